/** Colours for code: the part that knows languages is loaded when code is first shown, and until then code is plain. */
import { useSyncExternalStore } from "react";

type Lowlight = ReturnType<typeof import("lowlight")["createLowlight"]>;
export type Coloured = ReturnType<Lowlight["highlight"]>["children"];

/** Beyond this, colours take longer than they are worth. */
const MOST = 60_000;
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
      // Without colours code is still code; the next one shown tries again.
      loading = null;
    });
  return loading;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (!loaded) void load();
  return () => listeners.delete(listener);
}

/** The language of a file by its name, as far as it is known. */
export function languageOf(path: string): string | undefined {
  const name = path.split("/").at(-1)?.toLowerCase() ?? "";
  if (name === "makefile" || name === "dockerfile") return name;
  const extension = name.includes(".") ? name.split(".").at(-1) : undefined;
  return extension && (EXTENSIONS[extension] ?? extension);
}

export const useColours = (): Lowlight | null =>
  useSyncExternalStore(
    subscribe,
    () => loaded,
    () => null,
  );

export function coloured(lowlight: Lowlight | null, text: string, language?: string): Coloured | null {
  const named = language?.toLowerCase() ?? "";
  const known = ALIASES[named] ?? named;
  if (!lowlight || !known || text.length > MOST || !lowlight.registered(known)) return null;
  return lowlight.highlight(known, text).children;
}
