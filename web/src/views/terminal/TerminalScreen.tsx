/** Shows one terminal with xterm.js, which is loaded only for this. */
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { useEffect, useRef, useState } from "react";
import { socketProtocols } from "@/api/pageKey";
import { withAdoptedStyles } from "@/lib/adoptedStyles";
import { TerminalSocket } from "@/live/terminalSocket";
import { screenTheme } from "./screenTheme";
import "@xterm/xterm/css/xterm.css";
import css from "./Terminal.module.css";

/** Lines above the visible ones; the server holds about as many. */
const SCROLLBACK = 10_000;

/** Opens a link that a program printed, if it leads to the web and the person wants to. */
function openLink(event: MouseEvent, uri: string): void {
  event.preventDefault();
  if (/^https?:\/\//i.test(uri) && window.confirm(`Open this address?\n\n${uri}`))
    window.open(uri, "_blank", "noopener,noreferrer");
}

/** Shows a terminal in `host`, and returns a function that closes it. */
function show(host: HTMLElement, terminalId: string, say: (text: string) => void): () => void {
  const terminal = new Terminal({
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
    fontSize: 13,
    scrollback: SCROLLBACK,
    minimumContrastRatio: 4.5,
    theme: screenTheme(),
    linkHandler: { activate: openLink },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  withAdoptedStyles(() => terminal.open(host));

  const hasFocus = () => host.contains(document.activeElement);
  // Queries in what was printed before were answered then, and one viewer's answers are enough.
  let toReplay = 0;
  const mayType = () => toReplay <= 0 && hasFocus();
  let size = "";
  const tellSize = () => {
    const fitting = fit.proposeDimensions();
    if (!fitting?.cols || !fitting.rows || `${fitting.cols}x${fitting.rows}` === size) return;
    socket.resize(fitting.cols, fitting.rows);
  };
  const resize = (columns: number, rows: number) => {
    size = `${columns}x${rows}`;
    terminal.resize(columns, rows);
  };

  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const socket = new TerminalSocket(
    `${scheme}//${location.host}/api/terminals/attach?terminalId=${terminalId}`,
    socketProtocols,
    {
      opened: (columns, rows, replayed) => {
        say("");
        terminal.reset();
        toReplay = replayed;
        resize(columns, rows);
        tellSize();
      },
      printed: (data, shown) =>
        terminal.write(data, () => {
          toReplay -= data.length;
          shown();
        }),
      resized: resize,
      skipped: () => {
        // Some of what was printed before may be among it, so counting that would never end.
        toReplay = 0;
        say("Part of the output was skipped.");
      },
      ended: (code, reason) => say(code ? `Ended with code ${code}.` : reason || "This terminal has ended."),
      lost: () => say("Not connected. Trying again…"),
    },
  );
  const encoder = new TextEncoder();
  terminal.onData((text) => mayType() && socket.type(encoder.encode(text)));
  terminal.onBinary((text) => mayType() && socket.type(Uint8Array.from(text, (char) => char.charCodeAt(0))));
  // The size is the same for all viewers; whoever uses the terminal chooses it.
  terminal.textarea?.addEventListener("focus", tellSize);
  const resizes = new ResizeObserver(tellSize);
  resizes.observe(host);
  const themes = new MutationObserver(() => {
    terminal.options.theme = screenTheme();
  });
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  terminal.focus();
  return () => {
    resizes.disconnect();
    themes.disconnect();
    socket.close();
    terminal.dispose();
  };
}

export default function TerminalScreen({ terminalId }: { terminalId: string }) {
  const host = useRef<HTMLDivElement>(null);
  const [state, setState] = useState("Connecting…");
  useEffect(() => (host.current ? show(host.current, terminalId, setState) : undefined), [terminalId]);
  return (
    <div className={css.screen}>
      <div ref={host} className={css.host} />
      <p className={css.state} role="status">
        {state}
      </p>
    </div>
  );
}
