/** The panel beside the transcript with tree, queue, changes and settings; on a narrow screen, a sheet. */
import { Tabs } from "radix-ui";
import { useState } from "react";
import type { Session, Task } from "@/api/types";
import { Dialog } from "@/ui/controls/Dialog";
import { TreeList } from "@/views/tree/TreeList";
import { QueuePanel } from "../queue/QueuePanel";
import type { SessionState } from "../sessionState";
import { SettingsPanel } from "../settings/SettingsPanel";
import type { SettingsDraft } from "../settings/settingsDraft";
import { ChangesPanel } from "./ChangesPanel";
import css from "./SidePanel.module.css";

export type PanelTab = "tree" | "queue" | "changes" | "details";

const TABS: { id: PanelTab; label: string }[] = [
  { id: "tree", label: "Tree" },
  { id: "queue", label: "Queue" },
  { id: "changes", label: "Changes" },
  { id: "details", label: "Settings" },
];

interface Props {
  session: Session;
  tasks: Task[];
  state: SessionState;
  wide: boolean;
  open: boolean;
  tab: PanelTab;
  onTab: (tab: PanelTab) => void;
  onClose: () => void;
}

/** Settings that were edited but not saved. */
interface UnsavedSettings {
  edits: Partial<SettingsDraft>;
  setEdits: (edits: Partial<SettingsDraft>) => void;
}

export function SidePanel({ wide, open, onClose, ...rest }: Props) {
  // Kept here, so that switching tabs or closing the panel loses no edits.
  const [edits, setEdits] = useState<Partial<SettingsDraft>>({});
  const panels = <Panels {...rest} edits={edits} setEdits={setEdits} />;
  if (!wide)
    return (
      <Dialog open={open} onClose={onClose} title="Session details">
        {panels}
      </Dialog>
    );
  return open ? (
    <aside className={css.panel} aria-label="Session details">
      {panels}
    </aside>
  ) : null;
}

function Panels({
  session,
  tasks,
  state,
  tab,
  onTab,
  ...settings
}: Omit<Props, "wide" | "open" | "onClose"> & UnsavedSettings) {
  return (
    <Tabs.Root className={css.tabs} value={tab} onValueChange={(value) => onTab(value as PanelTab)}>
      <div className={css.head}>
        <Tabs.List className={css.list} aria-label="Session details">
          {TABS.map(({ id, label }) => (
            <Tabs.Trigger key={id} value={id} className={css.tab}>
              {label}
              {id === "queue" && state.queue.length > 0 && (
                <span className={css.count}>{state.queue.length}</span>
              )}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
      </div>
      <Tabs.Content value="tree" className={css.content}>
        <TreeList sessionId={session.id} />
      </Tabs.Content>
      <Tabs.Content value="queue" className={css.content}>
        <QueuePanel session={session} state={state} />
      </Tabs.Content>
      <Tabs.Content value="changes" className={css.content}>
        <ChangesPanel session={session} tasks={tasks} />
      </Tabs.Content>
      <Tabs.Content value="details" className={css.content}>
        <SettingsPanel session={session} {...settings} />
      </Tabs.Content>
    </Tabs.Root>
  );
}
