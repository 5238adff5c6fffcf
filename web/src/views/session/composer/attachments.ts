/** Files that go with a prompt: read in this browser, text as text and pictures as base64, within the server's limits. */
import type { PromptFile } from "@/api/actions";
import { bytes } from "@/lib/format";

export const MOST_FILES = 10;
export const LARGEST_FILE = 5 * 1024 * 1024;

export interface AttachedFile extends PromptFile {
  id: string;
  size: number;
}

const isPicture = (type: string) => /^image\/(png|jpe?g|gif|webp)$/.test(type);

/** The bytes as text, or `null` if they are none. */
export function asText(data: Uint8Array): string | null {
  if (data.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    return null;
  }
}

export function asBase64(data: Uint8Array): string {
  let binary = "";
  // In pieces: the arguments of one call are limited.
  for (let at = 0; at < data.length; at += 0x8000)
    binary += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(binary);
}

async function read(file: File): Promise<AttachedFile> {
  if (file.size > LARGEST_FILE)
    throw new Error(`${file.name} has ${bytes(file.size)}; a file may have ${bytes(LARGEST_FILE)} at most.`);
  const data = new Uint8Array(await file.arrayBuffer());
  const about = { id: crypto.randomUUID(), name: file.name || "file", size: file.size };
  if (isPicture(file.type)) return { ...about, mimeType: file.type, data: asBase64(data) };
  const text = asText(data);
  if (text === null) throw new Error(`${file.name} is neither text nor a picture that agents can see.`);
  return { ...about, mimeType: file.type || "text/plain", text };
}

/** Reads what was dropped, pasted or chosen; what cannot be taken is told in sentences. */
export async function attachFiles(
  known: readonly AttachedFile[],
  added: readonly File[],
): Promise<{ files: AttachedFile[]; refused: string[] }> {
  const room = Math.max(0, MOST_FILES - known.length);
  const outcomes = await Promise.allSettled(added.slice(0, room).map(read));
  const files = outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const refused = outcomes.flatMap((one) =>
    one.status === "rejected" ? [one.reason instanceof Error ? one.reason.message : String(one.reason)] : [],
  );
  if (added.length > room) refused.push(`A prompt takes ${MOST_FILES} files at most.`);
  return { files: [...known, ...files], refused };
}

export const toPromptFiles = (files: readonly AttachedFile[]): PromptFile[] =>
  files.map(({ name, mimeType, text, data }) =>
    text === undefined ? { name, mimeType, data } : { name, mimeType, text },
  );
