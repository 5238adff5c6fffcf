/** Fields of a repository's sandbox: whether and how its agents are confined, and the hosts that they may reach. */
import type { Repo } from "@/api/types";
import { Field, TextArea } from "@/ui/controls/Field";
import { SandboxProfileSelect } from "@/views/forms/fields/permissions/SandboxProfileSelect";
import { SandboxSelect } from "@/views/forms/fields/permissions/SandboxSelect";
import type { SandboxChoice, SandboxProfile } from "@/views/forms/state/draft";

export interface RepoSandbox {
  choice: SandboxChoice;
  profile: SandboxProfile;
  /** One host per line. */
  hosts: string;
}

export const sandboxOf = (repo: Repo | null): RepoSandbox => ({
  choice: repo?.sandbox ?? null,
  profile: repo?.sandboxProfile ?? null,
  hosts: (repo?.sandboxHosts ?? []).join("\n"),
});

export function RepoSandboxFields({
  value,
  onChange,
}: {
  value: RepoSandbox;
  onChange: (value: RepoSandbox) => void;
}) {
  return (
    <>
      <SandboxSelect value={value.choice} onChange={(choice) => onChange({ ...value, choice })} />
      <SandboxProfileSelect value={value.profile} onChange={(profile) => onChange({ ...value, profile })} />
      <Field
        label="Hosts for the strict profile"
        hint="One per line, for example api.example.com, *.example.com, internal:git.example.com or localhost:11434."
      >
        <TextArea
          value={value.hosts}
          onChange={(event) => onChange({ ...value, hosts: event.target.value })}
          rows={2}
        />
      </Field>
    </>
  );
}
