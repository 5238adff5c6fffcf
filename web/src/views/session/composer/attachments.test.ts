import { describe, expect, it } from "vitest";
import { asBase64, asText, attachFiles, MAX_FILE_SIZE, MAX_FILES, toPromptFiles } from "./attachments";

describe("files", () => {
  it("are text if their bytes are", () => {
    expect(asText(new TextEncoder().encode("größe"))).toBe("größe");
    expect(asText(new Uint8Array([1, 0, 2]))).toBeNull();
    expect(asText(new Uint8Array([0xff, 0xfe, 0x41]))).toBeNull();
  });

  it("are base64 if they are images, however large", () => {
    const data = new Uint8Array(100_000).fill(65);
    expect(atob(asBase64(data)).length).toBe(100_000);
  });

  it("are attached within the limits; others cause errors", async () => {
    const text = new File(["hello"], "a.txt", { type: "text/plain" });
    const image = new File([new Uint8Array([137, 80, 0])], "b.png", { type: "image/png" });
    const binary = new File([new Uint8Array([0, 1])], "c.bin");
    const { files, errors } = await attachFiles([], [text, image, binary]);
    expect(toPromptFiles(files)).toEqual([
      { name: "a.txt", mimeType: "text/plain", text: "hello" },
      { name: "b.png", mimeType: "image/png", data: "iVAA" },
    ]);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain("c.bin");
    const large = new File([new Uint8Array(MAX_FILE_SIZE + 1)], "d.txt");
    expect((await attachFiles([], [large])).errors[0]).toContain("d.txt");
    const many = await attachFiles(
      [],
      Array.from({ length: MAX_FILES + 2 }, () => text),
    );
    expect(many.files).toHaveLength(MAX_FILES);
    expect(many.errors).toEqual([`A prompt can have at most ${MAX_FILES} files.`]);
  });
});
