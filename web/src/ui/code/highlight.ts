/** Syntax highlighting. The highlighter is loaded when code is first shown; until then code is plain. */
import { useSyncExternalStore } from "react";

type Lowlight = ReturnType<typeof import("lowlight")["createLowlight"]>;
export type HighlightedNodes = ReturnType<Lowlight["highlight"]>["children"];

/** Longer code is not highlighted, because that takes too long. */
const MAX_LENGTH = 60_000;
const ALIASES: Record<string, string> = {
  console: "bash",
  jsonc: "json",
  json5: "json",
  toml: "ini",
  vue: "xml",
  svelte: "xml",
  dockerfile: "bash",
  tsx: "typescript",
  jsx: "javascript",
  mdx: "markdown",
};
const EXTENSIONS: Record<string, string> = {
  py: "python",
  pyi: "python",
  ts: "typescript",
  tsx: "typescript",
  mts: "typescript",
  js: "javascript",
  mjs: "javascript",
  rs: "rust",
  rb: "ruby",
  kt: "kotlin",
  cs: "csharp",
  sh: "bash",
  yml: "yaml",
  md: "markdown",
  h: "c",
  cc: "cpp",
  hpp: "cpp",
  htm: "xml",
  svg: "xml",
};

let loaded: Lowlight | null = null;
let loading: Promise<void> | null = null;
const listeners = new Set<() => void>();

function load(): Promise<void> {
  loading ??= import("lowlight")
    .then(({ common, createLowlight }) => {
      loaded = createLowlight(common);
      for (const listener of listeners) listener();
    })
    .catch(() => {
      // Code stays plain; the next one shown tries again.
      loading = null;
    });
  return loading;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (!loaded) void load();
  return () => listeners.delete(listener);
}

/** Guesses a file's language from its name. */
export function languageOf(path: string): string | undefined {
  const name = path.split("/").at(-1)?.toLowerCase() ?? "";
  if (name === "makefile" || name === "dockerfile") return name;
  const extension = name.includes(".") ? name.split(".").at(-1) : undefined;
  return extension && (EXTENSIONS[extension] ?? extension);
}

export const useHighlighter = (): Lowlight | null =>
  useSyncExternalStore(
    subscribe,
    () => loaded,
    () => null,
  );

export function highlight(
  highlighter: Lowlight | null,
  text: string,
  language?: string,
): HighlightedNodes | null {
  const name = language?.toLowerCase() ?? "";
  const registered = ALIASES[name] ?? name;
  if (!highlighter || !registered || text.length > MAX_LENGTH || !highlighter.registered(registered))
    return null;
  return highlighter.highlight(registered, text).children;
}
