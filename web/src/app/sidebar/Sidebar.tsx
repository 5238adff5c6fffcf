/** The sidebar's list of live sessions: a part of the navigation that folds, and on a phone a drawer. */
import { ChevronDown, PanelLeft } from "lucide-react";
import { useState } from "react";
import { useActions } from "@/app/keyboard/shortcuts";
import { useMedia } from "@/lib/media";
import { usePref } from "@/lib/prefs";
import { Dialog } from "@/ui/controls/Dialog";
import { SessionLinks } from "./SessionLinks";
import css from "./Sidebar.module.css";

/** Narrower windows need their width for the view; there the list opens on request. */
const ROOMY = "(min-width: 84rem)";

/** Whether the list is shown beside the views, and the function that changes it. */
export function useSidebarOpen(): [boolean, (open: boolean) => void] {
  const isRoomy = useMedia(ROOMY);
  return usePref<boolean>("sidebar", isRoomy);
}

export function Sidebar() {
  const [open, setOpen] = useSidebarOpen();
  useActions([
    {
      keys: "mod+b",
      label: open ? "Hide the list of sessions" : "Show the list of sessions",
      group: "Sessions",
      run: () => setOpen(!open),
    },
  ]);
  return (
    <nav className={css.sidebar} aria-label="Sessions">
      <button
        type="button"
        className={css.toggle}
        aria-expanded={open}
        title="Ctrl+B"
        onClick={() => setOpen(!open)}
      >
        <span>Sessions</span>
        <ChevronDown aria-hidden className={open ? undefined : css.closed} />
      </button>
      {open && (
        <div className={css.list}>
          <SessionLinks />
        </div>
      )}
    </nav>
  );
}

/** The button in the bar of a phone, and the drawer that it opens. */
export function SessionsDrawer({ className, wordClass }: { className?: string; wordClass?: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={className} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <PanelLeft aria-hidden />
        <span className={wordClass}>Sessions</span>
      </button>
      <Dialog open={open} onClose={() => setOpen(false)} title="Sessions">
        <div className={css.drawer}>
          <SessionLinks onOpen={() => setOpen(false)} />
        </div>
      </Dialog>
    </>
  );
}
