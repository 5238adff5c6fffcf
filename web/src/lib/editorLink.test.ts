import { expect, test } from "vitest";
import { editorLink } from "./editorLink";

test("opens a folder on this machine", () => {
  expect(editorLink("vscode", "/home/a/my repo", "127.0.0.1")).toBe("vscode://file/home/a/my%20repo");
  expect(editorLink("zed", "/home/a", "localhost")).toBe("zed://file/home/a");
  expect(editorLink("none", "/home/a", "localhost")).toBeNull();
});

test("opens a folder on another machine by SSH", () => {
  expect(editorLink("cursor", "/home/a", "box.example")).toBe(
    "cursor://vscode-remote/ssh-remote+box.example/home/a",
  );
  expect(editorLink("zed", "/home/a", "box.example")).toBe("zed://ssh/box.example/home/a");
});

test("a folder's name adds nothing to the link", () => {
  expect(editorLink("vscode", "/a?b#c/%2e&d", "localhost")).toBe("vscode://file/a%3Fb%23c/%252e%26d");
});
