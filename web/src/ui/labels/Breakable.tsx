/** Shows a name, path or address that may break after its separators, and nowhere else while there is room. */
import { Fragment } from "react";

export function Breakable({ text }: { text: string }) {
  return text.split(/(?<=[_/.:,@=&?-])(?=\w)/).map((piece, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text never move
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {piece}
    </Fragment>
  ));
}
