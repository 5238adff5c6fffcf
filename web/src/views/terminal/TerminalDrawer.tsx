/** The drawer below every view with the terminals of one worktree, or of the folder of one session. */
import { useQuery } from "@tanstack/react-query";
import { Maximize2, Minimize2, Plus, Trash2, X } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { endTerminal, openTerminal, runRequest } from "@/api/actions";
import { terminalsQuery, useMay } from "@/api/queries";
import { Button, IconButton } from "@/ui/controls/Button";
import { Problem, Skeleton } from "@/ui/feedback/Placeholders";
import { type OpenDrawer, openDrawer, useDrawer } from "./drawer";
import css from "./Terminal.module.css";

const TerminalScreen = lazy(() => import("./TerminalScreen"));

export default function TerminalDrawer() {
  const drawer = useDrawer();
  const mayUse = useMay("admin");
  return drawer && mayUse ? <Drawer key={JSON.stringify(drawer.place)} {...drawer} /> : null;
}

function Drawer({ place, name }: OpenDrawer) {
  const query = useQuery(terminalsQuery(place));
  const [chosenId, setChosenId] = useState<string | null>(null);
  const [isLarge, setLarge] = useState(false);
  const [isOpening, setOpening] = useState(false);
  const terminals = query.data ?? [];
  const chosen = terminals.find(({ id }) => id === chosenId) ?? terminals.at(-1);
  const open = async () => {
    setOpening(true);
    await runRequest(async () => {
      setChosenId((await openTerminal({ ...place })).id);
      await query.refetch();
    });
    setOpening(false);
  };
  return (
    <section className={css.drawer} data-large={isLarge || undefined} aria-label={`Terminal in ${name}`}>
      <header className={css.head}>
        <h2 className={css.title} title={chosen?.folder}>
          {name}
        </h2>
        <div className={css.tabs}>
          {terminals.map((terminal, index) => (
            <Button
              key={terminal.id}
              size="small"
              variant="quiet"
              aria-pressed={terminal.id === chosen?.id}
              title={`Opened by ${terminal.openedBy}`}
              onClick={() => setChosenId(terminal.id)}
            >
              {index + 1}
            </Button>
          ))}
          <IconButton label="New terminal" size="small" disabled={isOpening} onClick={() => void open()}>
            <Plus />
          </IconButton>
        </div>
        {chosen && (
          <IconButton
            label="End this terminal"
            size="small"
            onClick={() => void runRequest(() => endTerminal(chosen.id))}
          >
            <Trash2 />
          </IconButton>
        )}
        <IconButton label={isLarge ? "Smaller" : "Larger"} size="small" onClick={() => setLarge(!isLarge)}>
          {isLarge ? <Minimize2 /> : <Maximize2 />}
        </IconButton>
        <IconButton label="Hide terminal" size="small" onClick={() => openDrawer(null)}>
          <X />
        </IconButton>
      </header>
      {query.error ? (
        <Problem error={query.error} retry={() => void query.refetch()} />
      ) : chosen ? (
        <Suspense fallback={<Skeleton lines={4} />}>
          <TerminalScreen key={chosen.id} terminalId={chosen.id} />
        </Suspense>
      ) : (
        query.data && (
          <div className={css.none}>
            <p>Your own shell, as the user who runs the server. No sandbox or mode limits what you type.</p>
            <Button variant="primary" busy={isOpening} onClick={() => void open()}>
              Open terminal
            </Button>
          </div>
        )
      )}
    </section>
  );
}
