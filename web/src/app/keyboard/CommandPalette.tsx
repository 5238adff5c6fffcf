/** The command palette: the actions of the current view, sessions by name, and search across transcripts. */
import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { Search as SearchIcon } from "lucide-react";
import { Dialog } from "radix-ui";
import { lazy, Suspense, useState } from "react";
import { useLocation } from "wouter";
import { sessionsQuery } from "@/api/queries";
import { routes } from "@/app/routes";
import { sessionName } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import { Kbd } from "@/ui/controls/Kbd";
import { AgentMark } from "@/ui/labels/AgentMark";
import { StateMark } from "@/ui/labels/Badge";
import css from "./CommandPalette.module.css";
import { type Action, useActions, useOfferedActions } from "./shortcuts";

const KeyboardHelp = lazy(() => import("./KeyboardHelp"));

const PALETTE_KEYS = "mod+k";

const groups = (actions: readonly Action[]) => [...Map.groupBy(actions, (action) => action.group)];

export function CommandPalette() {
  const [open, setOpen] = useState<"palette" | "keys" | null>(null);
  useActions([
    { keys: PALETTE_KEYS, label: "Command palette", group: "Help", run: () => setOpen("palette") },
    { keys: "?", label: "Keyboard shortcuts", group: "Help", run: () => setOpen("keys"), words: "keys help" },
  ]);
  return (
    <>
      <Button
        variant="quiet"
        size="small"
        className={css.open}
        onClick={() => setOpen("palette")}
        icon={<SearchIcon />}
      >
        Commands <Kbd keys="mod+k" />
      </Button>
      <Dialog.Root open={open === "palette"} onOpenChange={(next) => setOpen(next ? "palette" : null)}>
        <Dialog.Portal>
          <Dialog.Overlay className={css.scrim} />
          <Dialog.Content className={css.palette} aria-describedby={undefined}>
            <Dialog.Title className="visually-hidden">Command palette</Dialog.Title>
            <Contents close={() => setOpen(null)} />
          </Dialog.Content>
        </Dialog.Portal>
      </Dialog.Root>
      {open === "keys" && (
        <Suspense>
          <KeyboardHelp onClose={() => setOpen(null)} />
        </Suspense>
      )}
    </>
  );
}

/** Remounted each time, so that the palette opens empty. */
function Contents({ close }: { close: () => void }) {
  const [words, setWords] = useState("");
  const [, navigate] = useLocation();
  // The palette is open already: to offer it again would only be in the way.
  const offered = useOfferedActions().filter(({ keys }) => keys !== PALETTE_KEYS);
  const { data: sessions = [], isPending } = useQuery(sessionsQuery);
  const run = (work: () => void) => () => {
    close();
    work();
  };
  return (
    <Command loop label="Commands" className={css.command}>
      <Command.Input
        className={css.input}
        value={words}
        onValueChange={setWords}
        placeholder="Search commands and sessions…"
      />
      <Command.List className={css.list}>
        <Command.Empty className={css.none}>No matching commands or sessions.</Command.Empty>
        {groups(offered).map(([group, actions]) => (
          <Command.Group key={group} heading={group} className={css.group}>
            {actions.map((action) => (
              <Command.Item
                key={`${group} ${action.label}`}
                value={`${group} ${action.label} ${action.words ?? ""}`}
                onSelect={run(action.run)}
                className={css.item}
              >
                <span className={css.name}>{action.label}</span>
                {action.keys && <Kbd keys={action.keys} />}
              </Command.Item>
            ))}
          </Command.Group>
        ))}
        <Command.Group heading="Sessions" className={css.group}>
          {sessions.map((session) => (
            <Command.Item
              key={session.id}
              value={`${sessionName(session)} ${session.agent} ${session.id}`}
              onSelect={run(() => navigate(routes.session(session.id)))}
              className={css.item}
            >
              <StateMark state={session} />
              <span className={css.name}>{sessionName(session)}</span>
              <AgentMark agent={session.agent} />
            </Command.Item>
          ))}
        </Command.Group>
        {/* Shown after the sessions have loaded, so that the selected item does not change. */}
        {words.trim() && !isPending && (
          <Command.Group heading="Search" className={css.group} forceMount>
            <Command.Item
              forceMount
              value={`search ${words}`}
              onSelect={run(() => navigate(routes.search(words.trim())))}
              className={css.item}
            >
              <SearchIcon />
              <span className={css.name}>Search all transcripts for “{words.trim()}”</span>
            </Command.Item>
          </Command.Group>
        )}
      </Command.List>
    </Command>
  );
}
