/** The colors of a terminal, from those of the page. */
import type { ITheme } from "@xterm/xterm";

const LIGHT = {
  black: "#1b2117",
  red: "#b3261e",
  green: "#2f6b3a",
  yellow: "#8a5300",
  blue: "#1b68a8",
  magenta: "#8a2f6b",
  cyan: "#0b6b74",
  white: "#666f5e",
  brightBlack: "#535c4c",
  brightRed: "#98231c",
  brightGreen: "#22663a",
  brightYellow: "#925005",
  brightBlue: "#1d5f8a",
  brightMagenta: "#6b46b0",
  brightCyan: "#0a5c64",
  brightWhite: "#1b2117",
};
const DARK = {
  black: "#2c3427",
  red: "#f2958c",
  green: "#8fce84",
  yellow: "#e3b565",
  blue: "#82bcec",
  magenta: "#e29ac6",
  cyan: "#7fd0d6",
  white: "#d5dccd",
  brightBlack: "#96a08c",
  brightRed: "#ffb3ab",
  brightGreen: "#a5dc9b",
  brightYellow: "#f3cd86",
  brightBlue: "#a6d2f7",
  brightMagenta: "#f0b7da",
  brightCyan: "#a2e3e7",
  brightWhite: "#ffffff",
};

export function screenTheme(): ITheme {
  const root = document.documentElement;
  const tokens = getComputedStyle(root);
  const token = (name: string) => tokens.getPropertyValue(name).trim();
  return {
    ...(root.dataset.theme === "dark" ? DARK : LIGHT),
    background: token("--sunken"),
    foreground: token("--text"),
    cursor: token("--accent"),
    cursorAccent: token("--sunken"),
    selectionBackground: token("--line-strong"),
  };
}
