/** Adds or changes a schedule: the prompt, its times, and the session or the new session that gets it. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { addSchedule, patchSchedule } from "@/api/actions";
import { sessionsQuery, useAgents, usePresets, useRepos } from "@/api/queries";
import type { Schedule } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input, Select, TextArea } from "@/ui/controls/Field";
import { useSave } from "../useSave";

const COMMON_TIMES = [
  ["0 * * * *", "Every hour"],
  ["0 6 * * *", "Every day at 06:00"],
  ["0 6 * * 1-5", "Weekdays at 06:00"],
  ["0 6 * * 1", "Mondays at 06:00"],
] as const;
const CUSTOM = "custom";
const ONCE = "once";
const NEW_SESSION = "new";

const localZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** Returns which entry of the list of times a schedule has. */
function kindOf(schedule: Schedule | null): string {
  if (!schedule) return COMMON_TIMES[1][0];
  if (!schedule.cron) return ONCE;
  return COMMON_TIMES.some(([cron]) => cron === schedule.cron) ? schedule.cron : CUSTOM;
}

export function ScheduleDialog({ schedule, onClose }: { schedule: Schedule | null; onClose: () => void }) {
  const [prompt, setPrompt] = useState(schedule?.prompt ?? "");
  const [kind, setKind] = useState(kindOf(schedule));
  const [cron, setCron] = useState(schedule?.cron ?? "30 6 * * 1-5");
  const [at, setAt] = useState("");
  const [zone, setZone] = useState(schedule?.timezone ?? localZone());
  const [target, setTarget] = useState("");
  const [repoId, setRepoId] = useState("");
  const [preset, setPreset] = useState("");
  const [agent, setAgent] = useState("");
  const [branch, setBranch] = useState("");
  const [missed, setMissed] = useState(schedule?.missed ?? "run");
  const [overlap, setOverlap] = useState(schedule?.overlap ?? "skip");
  const { data: sessions = [] } = useQuery(sessionsQuery);
  const { data: repos = [] } = useRepos();
  const { data: agents = [] } = useAgents();
  const { data: presets = [] } = usePresets();

  const { busy, error, save } = useSave(async () => {
    const times = kind === ONCE ? { at } : { cron: kind === CUSTOM ? cron : kind };
    const policies = { missed, overlap, timezone: zone.trim() };
    if (schedule) {
      const isSameTime = kind === ONCE && !at;
      await patchSchedule(schedule.id, { prompt, ...policies, ...(isSameTime ? {} : times) });
      return;
    }
    const session = {
      repoId,
      ...(preset ? { preset } : {}),
      ...(agent ? { agent } : {}),
      ...(branch.trim() ? { worktree: { branch: branch.trim() } } : {}),
    };
    const place = target === NEW_SESSION ? { session } : { sessionId: target };
    await addSchedule({ prompt, ...times, ...policies, ...place });
  }, onClose);

  return (
    <Dialog
      open
      onClose={onClose}
      title={schedule ? "Edit schedule" : "Add schedule"}
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy}>
            {schedule ? "Save" : "Add"}
          </Button>
        </>
      }
    >
      <Field label="Prompt" hint="{date}, {time} and {number} are filled in." error={error}>
        <TextArea rows={3} value={prompt} required onChange={(event) => setPrompt(event.target.value)} />
      </Field>
      <Field label="Times">
        <Select value={kind} onChange={(event) => setKind(event.target.value)}>
          {COMMON_TIMES.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          <option value={CUSTOM}>Other times…</option>
          <option value={ONCE}>Once</option>
        </Select>
      </Field>
      {kind === CUSTOM && (
        <Field label="Cron expression" hint="Minute, hour, day of month, month, day of week">
          <Input value={cron} required onChange={(event) => setCron(event.target.value)} />
        </Field>
      )}
      {kind === ONCE && (
        <Field label="Date and time">
          <Input
            type="datetime-local"
            value={at}
            required={!schedule}
            onChange={(event) => setAt(event.target.value)}
          />
        </Field>
      )}
      <Field label="Time zone">
        <Input value={zone} required onChange={(event) => setZone(event.target.value)} />
      </Field>
      {!schedule && (
        <Field label="Send to">
          <Select value={target} required onChange={(event) => setTarget(event.target.value)}>
            <option value="">Choose…</option>
            <option value={NEW_SESSION}>A new session each time</option>
            {sessions.map((session) => (
              <option key={session.id} value={session.id}>
                {session.title || session.id.slice(-8)}
              </option>
            ))}
          </Select>
        </Field>
      )}
      {target === NEW_SESSION && (
        <>
          <Field label="Repository">
            <Select value={repoId} required onChange={(event) => setRepoId(event.target.value)}>
              <option value="">Choose…</option>
              {repos.map((repo) => (
                <option key={repo.id} value={repo.id}>
                  {repo.name}
                </option>
              ))}
            </Select>
          </Field>
          {presets.length > 0 && (
            <Field label="Preset">
              <Select value={preset} onChange={(event) => setPreset(event.target.value)}>
                <option value="">None</option>
                {presets.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </Select>
            </Field>
          )}
          <Field label="Agent">
            <Select value={agent} onChange={(event) => setAgent(event.target.value)}>
              <option value="">{preset ? "The preset's" : "Default"}</option>
              {agents.map(({ name, title }) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </Select>
          </Field>
          <Field label="Branch" hint="Optional. Each session gets a worktree; the date and time are added.">
            <Input value={branch} onChange={(event) => setBranch(event.target.value)} />
          </Field>
        </>
      )}
      <Field label="If the server was not running">
        <Select value={missed} onChange={(event) => setMissed(event.target.value as Schedule["missed"])}>
          <option value="run">Run once as soon as possible</option>
          <option value="skip">Skip it</option>
        </Select>
      </Field>
      <Field label="If the previous run is still going">
        <Select value={overlap} onChange={(event) => setOverlap(event.target.value as Schedule["overlap"])}>
          <option value="skip">Skip it</option>
          <option value="run">Run anyway</option>
        </Select>
      </Field>
    </Dialog>
  );
}
