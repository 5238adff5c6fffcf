/** Adds or edits an MCP server. Secret values that are not edited stay stored. */
import { useState } from "react";
import { addMcpServer, patchMcpServer } from "@/api/actions";
import type { McpServer } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input, Select, TextArea } from "@/ui/controls/Field";
import { fromLines, toLines } from "./envLines";
import { useSave } from "./useSave";

export function McpServerDialog({ server, onClose }: { server: McpServer | null; onClose: () => void }) {
  const [name, setName] = useState(server?.name ?? "");
  const [transport, setTransport] = useState<McpServer["transport"]>(server?.transport ?? "stdio");
  const [command, setCommand] = useState(server?.command ?? "");
  const [args, setArgs] = useState(server?.args.join("\n") ?? "");
  const [url, setUrl] = useState(server?.url ?? "");
  const [secrets, setSecrets] = useState(
    toLines((server?.transport === "stdio" ? server?.env : server?.headers) ?? {}),
  );
  const local = transport === "stdio";
  const { busy, error, save } = useSave(async () => {
    const pairs = fromLines(secrets);
    const how = local
      ? { command: command.trim(), args: args.split("\n").filter(Boolean), env: pairs }
      : { url: url.trim(), headers: pairs };
    if (server) await patchMcpServer(server.id, { name, ...how });
    else await addMcpServer({ name, transport, ...how });
  }, onClose);
  return (
    <Dialog
      open
      onClose={onClose}
      title={server ? `Edit ${server.name}` : "Add MCP server"}
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy}>
            {server ? "Save" : "Add"}
          </Button>
        </>
      }
    >
      <Field label="Name" error={error}>
        <Input value={name} onChange={(event) => setName(event.target.value)} required />
      </Field>
      <Field label="Transport" hint={server ? "Cannot be changed. Add another server instead." : undefined}>
        <Select
          value={transport}
          disabled={Boolean(server)}
          onChange={(event) => setTransport(event.target.value as McpServer["transport"])}
        >
          <option value="stdio">stdio (a program on the server)</option>
          <option value="http">HTTP (a URL)</option>
          <option value="sse">SSE (a URL, legacy)</option>
        </Select>
      </Field>
      {local ? (
        <>
          <Field label="Command">
            <Input value={command} onChange={(event) => setCommand(event.target.value)} required />
          </Field>
          <Field label="Arguments" hint="One per line. Not secret.">
            <TextArea value={args} onChange={(event) => setArgs(event.target.value)} rows={3} />
          </Field>
        </>
      ) : (
        <Field label="URL">
          <Input type="url" value={url} onChange={(event) => setUrl(event.target.value)} required />
        </Field>
      )}
      <Field
        label={local ? "Environment" : "Headers"}
        hint="One NAME=value per line. Values are stored as secrets; *** keeps the stored value."
      >
        <TextArea
          value={secrets}
          onChange={(event) => setSecrets(event.target.value)}
          rows={3}
          spellCheck={false}
        />
      </Field>
    </Dialog>
  );
}
