/** Shows a content block that is not text: an image, audio, or a linked or embedded file. */
import { Code } from "@/ui/code/Code";
import { languageOf } from "@/ui/code/highlight";
import { safeUrl } from "@/ui/markdown/markdownElements";
import css from "../tools/ToolCall.module.css";

const IMAGE = /^image\/(png|jpe?g|gif|webp|avif)$/;
const AUDIO = /^audio\/[\w.+-]+$/;
const isBase64 = (text: unknown): text is string =>
  typeof text === "string" && /^[A-Za-z0-9+/=\s]+$/.test(text);

export function ContentBlock({ block }: { block: Record<string, unknown> }) {
  const mimeType = String(block.mimeType ?? "");
  if (block.type === "image" && IMAGE.test(mimeType) && isBase64(block.data))
    return (
      <img className={css.image} src={`data:${mimeType};base64,${block.data}`} alt="Sent by the agent" />
    );
  if (block.type === "audio" && AUDIO.test(mimeType) && isBase64(block.data))
    // biome-ignore lint/a11y/useMediaCaption: agents provide no captions
    return <audio controls src={`data:${mimeType};base64,${block.data}`} />;
  if (block.type === "resource_link") {
    const name = String(block.title ?? block.name ?? block.uri);
    const href = safeUrl(String(block.uri));
    if (!href) return <code>{String(block.uri).replace(/^file:\/\//, "") || name}</code>;
    return (
      <a href={href} target="_blank" rel="noopener noreferrer">
        {name}
      </a>
    );
  }
  const resource = block.resource as Record<string, unknown> | undefined;
  if (block.type === "resource" && typeof resource?.text === "string")
    return <Code text={resource.text} language={languageOf(String(resource.uri ?? ""))} />;
  const json = JSON.stringify(
    block,
    (_, value) => (typeof value === "string" && value.length > 2000 ? `${value.slice(0, 2000)}…` : value),
    2,
  );
  return <Code text={json} language="json" />;
}
