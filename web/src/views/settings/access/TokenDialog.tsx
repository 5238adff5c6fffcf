/** Creates a token for a person and shows it once, with the link that signs that person in. */
import { useState } from "react";
import { addToken } from "@/api/actions";
import type { Role, User } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input, Select } from "@/ui/controls/Field";
import css from "../Settings.module.css";
import { useSave } from "../useSave";
import { ROLES } from "./UserDialog";

const DAYS = [1, 7, 30, 90, 365];
const DAY_IN_MS = 24 * 3600 * 1000;

/** Returns the link with which a person opens the page and is signed in. */
export const signInLink = (token: string, origin: string) => `${origin}/?token=${encodeURIComponent(token)}`;

export function TokenDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const offered = ROLES.slice(0, ROLES.indexOf(user.role) + 1);
  const [scope, setScope] = useState<Role>(user.role);
  const [name, setName] = useState("");
  const [days, setDays] = useState("90");
  const [token, setToken] = useState<string | null>(null);
  const { busy, error, save } = useSave(
    async () => {
      const expiresAt = days ? new Date(Date.now() + Number(days) * DAY_IN_MS).toISOString() : null;
      setToken((await addToken({ user: user.name, scope, name, expiresAt })).token);
    },
    () => undefined,
  );
  if (token)
    return (
      <Dialog
        open
        onClose={onClose}
        title={`Token of ${user.name}`}
        description="Copy it now; it is not shown again. Whoever has it can do what this person may."
        footer={
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        }
      >
        <Field label="Token">
          <Input readOnly value={token} onFocus={(event) => event.target.select()} />
        </Field>
        <Field label="Sign-in link">
          <Input
            readOnly
            value={signInLink(token, location.origin)}
            onFocus={(event) => event.target.select()}
          />
        </Field>
        <p className={css.soft}>
          For commands, set BOUGH_URL to this server's address and BOUGH_TOKEN to it.
        </p>
      </Dialog>
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title={`New token for ${user.name}`}
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy}>
            Create token
          </Button>
        </>
      }
    >
      <Field label="Scope" hint="The most that it may do." error={error}>
        <Select value={scope} onChange={(event) => setScope(event.target.value as Role)}>
          {offered.map((role) => (
            <option key={role}>{role}</option>
          ))}
        </Select>
      </Field>
      <Field label="Expires">
        <Select value={days} onChange={(event) => setDays(event.target.value)}>
          {DAYS.map((count) => (
            <option key={count} value={count}>
              {count === 1 ? "In 1 day" : `In ${count} days`}
            </option>
          ))}
          <option value="">Never</option>
        </Select>
      </Field>
      <Field label="Name" hint="Optional. For example the machine it is for.">
        <Input value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
    </Dialog>
  );
}
