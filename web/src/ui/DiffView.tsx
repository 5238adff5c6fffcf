/** Differences of files. */

/** A patch as git writes it, with any number of files. */
export function DiffView({ patch }: { patch: string; split?: boolean }) {
  return <pre>{patch}</pre>;
}

/** One file, before and after. */
export function TextDiff({
  path,
  newText,
}: {
  path: string;
  oldText: string | null;
  newText: string;
  split?: boolean;
}) {
  return (
    <pre>
      {path} {newText}
    </pre>
  );
}
