/** Saves and opens files that the page has fetched. */

/** Milliseconds; a browser has read a file by then. */
const KEEP_URL = 60_000;

function withUrl(file: Blob, use: (url: string) => void): void {
  const url = URL.createObjectURL(file);
  use(url);
  setTimeout(() => URL.revokeObjectURL(url), KEEP_URL);
}

export function saveFile(file: Blob, name: string): void {
  withUrl(file, (url) => {
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
  });
}

/** The types that a browser shows without running anything; the server calls all others `application/octet-stream`. */
const SHOWN = /^(image\/(png|jpeg|gif|webp)|text\/plain)(;|$)/;

/** Opens a file in a new tab if it can do no harm there, or else saves it. */
export function openFile(file: Blob, name: string): void {
  if (SHOWN.test(file.type)) withUrl(file, (url) => window.open(url, "_blank", "noopener"));
  else saveFile(file, name);
}
