/** Lists the people who share this server, changes their roles, and creates their tokens. */
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { patchUser, removeUser, runRequest } from "@/api/actions";
import { client, usersQuery, useUsers } from "@/api/queries";
import type { Role, User } from "@/api/types";
import { Button, IconButton } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Select } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { Badge } from "@/ui/labels/Badge";
import { Time } from "@/ui/labels/Time";
import css from "../Settings.module.css";
import { useSave } from "../useSave";
import { TokenDialog } from "./TokenDialog";
import { ROLES, UserDialog } from "./UserDialog";

const OWNER = "owner";

async function change(work: () => Promise<unknown>): Promise<void> {
  await runRequest(work);
  await client.invalidateQueries(usersQuery);
}

function Person({ user, onToken, onRemove }: { user: User; onToken: () => void; onRemove: () => void }) {
  const isOwner = user.id === OWNER;
  // Saved by a button: with the keyboard, a select changes at every arrow key.
  const [role, setRole] = useState(user.role);
  const tokens = user.tokens === 1 ? "1 token" : `${user.tokens} tokens`;
  return (
    <li className={css.card}>
      <div className={css.row}>
        <h2 className={`${css.grow} ${css.name}`}>{user.name}</h2>
        {isOwner ? (
          <Badge>{user.role}</Badge>
        ) : (
          <Select
            aria-label={`Role of ${user.name}`}
            value={role}
            onChange={(event) => setRole(event.target.value as Role)}
          >
            {ROLES.map((item) => (
              <option key={item}>{item}</option>
            ))}
          </Select>
        )}
        {role !== user.role && (
          <Button
            size="small"
            variant="primary"
            onClick={() => void change(() => patchUser(user.name, { role }))}
          >
            Save role
          </Button>
        )}
        <Button size="small" onClick={onToken}>
          New token
        </Button>
        {!isOwner && (
          <IconButton label={`Remove ${user.name}`} size="small" onClick={onRemove}>
            <Trash2 />
          </IconButton>
        )}
      </div>
      <p className={css.soft}>
        {isOwner ? "Runs this server" : tokens}
        {user.createdAt && (
          <>
            {" · "}added <Time at={user.createdAt} />
          </>
        )}
      </p>
    </li>
  );
}

function RemoveDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const { busy, error, save } = useSave(async () => {
    await removeUser(user.name);
    await client.invalidateQueries(usersQuery);
  }, onClose);
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Remove ${user.name}?`}
      description="All tokens and signed-in browsers of this person end. Transcripts and the audit trail keep the name."
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" type="submit" busy={busy}>
            Remove
          </Button>
        </>
      }
    >
      {error && <p role="alert">{error}</p>}
    </Dialog>
  );
}

export function PeopleSettings() {
  const [adding, setAdding] = useState(false);
  const [tokenFor, setTokenFor] = useState<User | null>(null);
  const [removing, setRemoving] = useState<User | null>(null);
  const done = () => {
    setAdding(false);
    setTokenFor(null);
    void client.invalidateQueries(usersQuery);
  };
  return (
    <>
      <div className={css.actions}>
        <Button variant="primary" icon={<Plus />} onClick={() => setAdding(true)}>
          Add person
        </Button>
      </div>
      <QueryResult query={useUsers()}>
        {(users) => (
          <ul className={css.list}>
            {users.map((user) => (
              <Person
                key={`${user.id} ${user.role}`}
                user={user}
                onToken={() => setTokenFor(user)}
                onRemove={() => setRemoving(user)}
              />
            ))}
          </ul>
        )}
      </QueryResult>
      {adding && <UserDialog onClose={done} />}
      {tokenFor && <TokenDialog user={tokenFor} onClose={done} />}
      {removing && <RemoveDialog user={removing} onClose={() => setRemoving(null)} />}
    </>
  );
}
