/** Links that open a folder of the server's machine in an editor on the person's own. */

export const EDITORS = {
  vscode: "VS Code",
  cursor: "Cursor",
  windsurf: "Windsurf",
  zed: "Zed",
  none: "None",
} as const;
export type Editor = keyof typeof EDITORS;

const HERE = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Returns the link; for a server on another machine, one that opens the folder by SSH. */
export function editorLink(editor: Editor, path: string, host = location.hostname): string | null {
  if (editor === "none") return null;
  const escaped = path.split("/").map(encodeURIComponent).join("/");
  if (HERE.has(host)) return `${editor}://file${escaped}`;
  return editor === "zed"
    ? `zed://ssh/${host}${escaped}`
    : `${editor}://vscode-remote/ssh-remote+${encodeURIComponent(host)}${escaped}`;
}
