/** Reads files to attach to a prompt: text as text and images as base64, within the server's limits. */
import type { PromptFile } from "@/api/actions";
import { bytes } from "@/lib/format";

export const MAX_FILES = 10;
export const MAX_FILE_SIZE = 5 * 1024 * 1024;

export interface AttachedFile extends PromptFile {
  id: string;
  size: number;
}

const isImage = (type: string) => /^image\/(png|jpe?g|gif|webp)$/.test(type);

/** Decodes bytes as UTF-8 text; returns null if they are not text. */
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
  // In chunks, because the number of arguments of a call is limited.
  for (let at = 0; at < data.length; at += 0x8000)
    binary += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(binary);
}

async function read(file: File): Promise<AttachedFile> {
  if (file.size > MAX_FILE_SIZE)
    throw new Error(`${file.name} is ${bytes(file.size)}; files can be at most ${bytes(MAX_FILE_SIZE)}.`);
  const data = new Uint8Array(await file.arrayBuffer());
  const info = { id: crypto.randomUUID(), name: file.name || "file", size: file.size };
  if (isImage(file.type)) return { ...info, mimeType: file.type, data: asBase64(data) };
  const text = asText(data);
  if (text === null) throw new Error(`${file.name} is not a text file or a supported image.`);
  return { ...info, mimeType: file.type || "text/plain", text };
}

/** Reads dropped, pasted or chosen files. Returns all attached files, and an error message for each refused one. */
export async function attachFiles(
  attached: readonly AttachedFile[],
  added: readonly File[],
): Promise<{ files: AttachedFile[]; errors: string[] }> {
  const room = Math.max(0, MAX_FILES - attached.length);
  const outcomes = await Promise.allSettled(added.slice(0, room).map(read));
  const files = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  const errors = outcomes.flatMap((outcome) =>
    outcome.status === "rejected"
      ? [outcome.reason instanceof Error ? outcome.reason.message : String(outcome.reason)]
      : [],
  );
  if (added.length > room) errors.push(`A prompt can have at most ${MAX_FILES} files.`);
  return { files: [...attached, ...files], errors };
}

export const toPromptFiles = (files: readonly AttachedFile[]): PromptFile[] =>
  files.map(({ name, mimeType, text, data }) =>
    text === undefined ? { name, mimeType, data } : { name, mimeType, text },
  );
