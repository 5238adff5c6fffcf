/** What stands beside the transcript: tree, queue, changes, details. On a narrow window it is a sheet. */
import { Tabs } from "radix-ui";
import { useState } from "react";
import type { Session, Task } from "@/api/types";
import { Dialog } from "@/ui/controls/Dialog";
import { TreeList } from "@/views/tree/TreeList";
import { QueuePanel } from "../queue/QueuePanel";
import type { Standing } from "../sessionState";
import { SettingsPanel } from "../settings/SettingsPanel";
import type { Draft } from "../settings/settingsDraft";
import { ChangesPanel } from "./ChangesPanel";
import css from "./SidePanel.module.css";

export type PanelTab = "tree" | "queue" | "changes" | "details";

const TABS: { id: PanelTab; label: string }[] = [
  { id: "tree", label: "Tree" },
  { id: "queue", label: "Queue" },
  { id: "changes", label: "Changes" },
  { id: "details", label: "Details" },
];

interface Props {
  session: Session;
  tasks: Task[];
  now: Standing;
  wide: boolean;
  open: boolean;
  tab: PanelTab;
  onTab: (tab: PanelTab) => void;
  onClose: () => void;
}

/** Settings that were changed and not saved yet. */
interface Typed {
  typed: Partial<Draft>;
  setTyped: (typed: Partial<Draft>) => void;
}

export function SidePanel({ wide, open, onClose, ...rest }: Props) {
  // Held here, so that a look at another tab, or a panel that was closed, loses none of them.
  const [typed, setTyped] = useState<Partial<Draft>>({});
  const panels = <Panels {...rest} typed={typed} setTyped={setTyped} />;
  if (!wide)
    return (
      <Dialog open={open} onClose={onClose} title="About this session">
        {panels}
      </Dialog>
    );
  return open ? (
    <aside className={css.panel} aria-label="About this session">
      {panels}
    </aside>
  ) : null;
}

function Panels({
  session,
  tasks,
  now,
  tab,
  onTab,
  ...settings
}: Omit<Props, "wide" | "open" | "onClose"> & Typed) {
  return (
    <Tabs.Root className={css.tabs} value={tab} onValueChange={(value) => onTab(value as PanelTab)}>
      <div className={css.head}>
        <Tabs.List className={css.list} aria-label="About this session">
          {TABS.map(({ id, label }) => (
            <Tabs.Trigger key={id} value={id} className={css.tab}>
              {label}
              {id === "queue" && now.waiting.length > 0 && (
                <span className={css.count}>{now.waiting.length}</span>
              )}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
      </div>
      <Tabs.Content value="tree" className={css.content}>
        <TreeList sessionId={session.id} />
      </Tabs.Content>
      <Tabs.Content value="queue" className={css.content}>
        <QueuePanel session={session} now={now} />
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
