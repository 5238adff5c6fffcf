/** A block of content that is no text: an image or a sound of the agent's, a file that it names or holds. */
import { Code } from "@/ui/code/Code";
import { languageOf } from "@/ui/code/highlight";
import { safe } from "@/ui/markdown/markdownElements";
import css from "../tools/ToolCall.module.css";

const IMAGE = /^image\/(png|jpe?g|gif|webp|avif)$/;
const SOUND = /^audio\/[\w.+-]+$/;
const isBase64 = (text: unknown): text is string =>
  typeof text === "string" && /^[A-Za-z0-9+/=\s]+$/.test(text);

export function Block({ block }: { block: Record<string, unknown> }) {
  const kind = String(block.mimeType ?? "");
  if (block.type === "image" && IMAGE.test(kind) && isBase64(block.data))
    return <img className={css.image} src={`data:${kind};base64,${block.data}`} alt="From the agent" />;
  if (block.type === "audio" && SOUND.test(kind) && isBase64(block.data))
    // biome-ignore lint/a11y/useMediaCaption: nobody wrote captions for what an agent made
    return <audio controls src={`data:${kind};base64,${block.data}`} />;
  if (block.type === "resource_link") {
    const name = String(block.title ?? block.name ?? block.uri);
    const to = safe(String(block.uri));
    if (!to) return <code>{String(block.uri).replace(/^file:\/\//, "") || name}</code>;
    return (
      <a href={to} target="_blank" rel="noopener noreferrer">
        {name}
      </a>
    );
  }
  const inner = block.resource as Record<string, unknown> | undefined;
  if (block.type === "resource" && typeof inner?.text === "string")
    return <Code text={inner.text} language={languageOf(String(inner.uri ?? ""))} />;
  const shown = JSON.stringify(
    block,
    (_, value) => (typeof value === "string" && value.length > 2000 ? `${value.slice(0, 2000)}…` : value),
    2,
  );
  return <Code text={shown} language="json" />;
}
