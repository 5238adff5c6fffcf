/** The form of an MCP server, new or known. Secret values that are not touched are kept as they are. */
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
      title={server ? `Change ${server.name}` : "Add an MCP server"}
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" busy={busy}>
            {server ? "Save" : "Add"}
          </Button>
        </>
      }
    >
      <Field label="Name" error={error}>
        <Input value={name} onChange={(event) => setName(event.target.value)} required />
      </Field>
      <Field
        label="Transport"
        hint={server ? "It cannot be changed; add another server instead." : undefined}
      >
        <Select
          value={transport}
          disabled={Boolean(server)}
          onChange={(event) => setTransport(event.target.value as McpServer["transport"])}
        >
          <option value="stdio">stdio: a program on the server</option>
          <option value="http">http: an address</option>
          <option value="sse">sse: an address, the older way</option>
        </Select>
      </Field>
      {local ? (
        <>
          <Field label="Command">
            <Input value={command} onChange={(event) => setCommand(event.target.value)} required />
          </Field>
          <Field label="Arguments" hint="One a line. They are not secret.">
            <TextArea value={args} onChange={(event) => setArgs(event.target.value)} rows={3} />
          </Field>
        </>
      ) : (
        <Field label="Address">
          <Input type="url" value={url} onChange={(event) => setUrl(event.target.value)} required />
        </Field>
      )}
      <Field
        label={local ? "Environment" : "Headers"}
        hint="NAME=value, one a line. Values are kept secret; *** keeps the one that there is."
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
