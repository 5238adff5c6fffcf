/** Schedules: what is sent when, how the last run went, and the history of each. */
import { CalendarClock, Pause, Play, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { patchSchedule, removeSchedule, runRequest, runSchedule } from "@/api/actions";
import { useSchedules } from "@/api/queries";
import type { Schedule } from "@/api/types";
import { Button, IconButton } from "@/ui/controls/Button";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import { Badge } from "@/ui/labels/Badge";
import css from "../Settings.module.css";
import { ScheduleDialog } from "./ScheduleDialog";
import { RunLine, ScheduleRuns } from "./ScheduleRuns";

export function ScheduleSettings() {
  const [shown, setShown] = useState<Schedule | "new" | null>(null);
  return (
    <>
      <div className={css.actions}>
        <Button variant="primary" icon={<Plus />} onClick={() => setShown("new")}>
          Add schedule
        </Button>
      </div>
      <QueryResult query={useSchedules()}>
        {(schedules) =>
          schedules.length ? (
            <ul className={css.list}>
              {schedules.map((schedule) => (
                <ScheduleCard key={schedule.id} schedule={schedule} onEdit={() => setShown(schedule)} />
              ))}
            </ul>
          ) : (
            <Empty icon={<CalendarClock />} title="No schedules yet">
              A schedule sends a prompt every night, every Monday or once, to a session or to a new one each
              time.
            </Empty>
          )
        }
      </QueryResult>
      {shown && <ScheduleDialog schedule={shown === "new" ? null : shown} onClose={() => setShown(null)} />}
    </>
  );
}

function ScheduleCard({ schedule, onEdit }: { schedule: Schedule; onEdit: () => void }) {
  const [withHistory, setWithHistory] = useState(false);
  const { id, title, paused, nextAt, lastRun } = schedule;
  return (
    <li className={css.card}>
      <div className={css.row}>
        <h2 className={`${css.grow} ${css.name}`}>{title}</h2>
        {paused && <Badge tone="waiting">Paused</Badge>}
        {!paused && !nextAt && <Badge>Over</Badge>}
        <IconButton
          label={paused ? `Resume ${title}` : `Pause ${title}`}
          size="small"
          onClick={() => void runRequest(() => patchSchedule(id, { paused: !paused }))}
        >
          {paused ? <Play /> : <Pause />}
        </IconButton>
        <Button size="small" onClick={() => void runRequest(() => runSchedule(id))}>
          Run now
        </Button>
        <Button size="small" onClick={onEdit}>
          Edit
        </Button>
        <IconButton
          label={`Remove ${title}`}
          size="small"
          onClick={() => void runRequest(() => removeSchedule(id))}
        >
          <Trash2 />
        </IconButton>
      </div>
      <p className={css.soft}>
        {schedule.times}
        {!paused && nextAt && <> · next {new Date(nextAt).toLocaleString()}</>}
      </p>
      {schedule.preset && <p className={css.soft}>Preset {schedule.preset}</p>}
      {schedule.problem && <p className={css.soft}>{schedule.problem}</p>}
      {schedule.pauseReason && <p className={css.soft}>{schedule.pauseReason}</p>}
      {lastRun && (
        <div className={css.row}>
          <div className={css.grow}>
            <RunLine run={lastRun} />
          </div>
          <Button size="small" aria-expanded={withHistory} onClick={() => setWithHistory(!withHistory)}>
            History
          </Button>
        </div>
      )}
      {withHistory && <ScheduleRuns scheduleId={id} />}
    </li>
  );
}
