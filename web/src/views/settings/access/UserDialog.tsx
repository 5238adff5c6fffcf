/** Adds a person. */
import { useState } from "react";
import { addUser } from "@/api/actions";
import type { Role } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input, Select } from "@/ui/controls/Field";
import { useSave } from "../useSave";

export const ROLES: readonly Role[] = ["viewer", "operator", "admin"];

export function UserDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const { busy, error, save } = useSave(() => addUser({ name: name.trim(), role }), onClose);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add person"
      description="Then create a token, with which that person signs in."
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy} disabled={!name.trim()}>
            Add
          </Button>
        </>
      }
    >
      <Field label="Name" hint="Lower-case letters, digits, dots, dashes and underscores" error={error}>
        <Input value={name} autoComplete="off" onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label="Role">
        <Select value={role} onChange={(event) => setRole(event.target.value as Role)}>
          {ROLES.map((item) => (
            <option key={item}>{item}</option>
          ))}
        </Select>
      </Field>
    </Dialog>
  );
}
