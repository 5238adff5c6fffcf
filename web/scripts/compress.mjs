// Puts a brotli and a gzip version beside each file of the built page that gets smaller by it, so that the server never
// compresses anything itself.
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const folder = process.argv[2] ?? fileURLToPath(new URL("../../src/bough/web", import.meta.url));
const kinds = new Set([".css", ".html", ".ico", ".js", ".json", ".svg", ".txt", ".wasm", ".webmanifest"]);
// Smaller than a packet, a file arrives no sooner for being smaller still.
const smallest = 1024;

async function compress(path) {
  const text = await readFile(path);
  if (text.length < smallest) return;
  const brotli = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  };
  const made = {
    ".br": await promisify(brotliCompress)(text, { params: brotli }),
    ".gz": await promisify(gzip)(text, { level: constants.Z_BEST_COMPRESSION }),
  };
  for (const [ending, bytes] of Object.entries(made)) {
    if (bytes.length < text.length) await writeFile(path + ending, bytes);
  }
}

const entries = await readdir(folder, { recursive: true, withFileTypes: true });
const files = entries.filter((entry) => entry.isFile() && kinds.has(extname(entry.name)));
await Promise.all(files.map((entry) => compress(join(entry.parentPath, entry.name))));
// A running server reads the page anew when the index is newer than the one it knows: now everything is there.
const now = new Date();
await utimes(join(folder, "index.html"), now, now);
