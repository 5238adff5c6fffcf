/** The menu of boards: switch, create, rename, delete. */
import { ChevronDown, LayoutDashboard, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { addBoard, removeBoard, renameBoard, runRequest } from "@/api/actions";
import type { Board } from "@/api/types";
import { routes } from "@/app/routes";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input } from "@/ui/controls/Field";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "@/ui/controls/Menu";
import { emptyBoard } from "./moveCards";

type Asked = "new" | "rename" | "delete" | null;

export function BoardMenu({ boards, board }: { boards: Board[]; board: Board }) {
  const [, navigate] = useLocation();
  const [asked, setAsked] = useState<Asked>(null);
  return (
    <>
      <Menu
        align="start"
        trigger={
          <Button icon={<LayoutDashboard />}>
            Boards
            <ChevronDown aria-hidden />
          </Button>
        }
      >
        <MenuLabel>Boards</MenuLabel>
        {boards.map((entry) => (
          <MenuItem
            key={entry.id}
            icon={<LayoutDashboard />}
            disabled={entry.id === board.id}
            onSelect={() => navigate(entry.isDefault ? routes.board : routes.boardOf(entry.id))}
          >
            {entry.name}
            {entry.id === board.id && " (current)"}
          </MenuItem>
        ))}
        <MenuSeparator />
        <MenuItem icon={<Plus />} onSelect={() => setAsked("new")}>
          New board
        </MenuItem>
        <MenuItem icon={<Pencil />} onSelect={() => setAsked("rename")}>
          Rename board
        </MenuItem>
        <MenuItem icon={<Trash2 />} danger disabled={board.isDefault} onSelect={() => setAsked("delete")}>
          Delete board…
        </MenuItem>
      </Menu>
      {(asked === "new" || asked === "rename") && (
        <NameDialog
          board={asked === "rename" ? board : null}
          onClose={() => setAsked(null)}
          onMade={(item) => navigate(routes.boardOf(item.id))}
        />
      )}
      {asked === "delete" && (
        <DeleteBoard board={board} onClose={() => setAsked(null)} onGone={() => navigate(routes.board)} />
      )}
    </>
  );
}

function NameDialog({
  board,
  onClose,
  onMade,
}: {
  board: Board | null;
  onClose: () => void;
  onMade: (board: Board) => void;
}) {
  const [name, setName] = useState(board?.name ?? "");
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    const done = await runRequest(async () => {
      if (board) await renameBoard(board.id, name.trim());
      else onMade(await addBoard(name.trim()));
    });
    setBusy(false);
    if (done) onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={() => void save()}
      title={board ? "Rename board" : "New board"}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={busy} disabled={!name.trim()}>
            {board ? "Rename" : "Create"}
          </Button>
        </>
      }
    >
      <Field label="Name">
        <Input value={name} onChange={(event) => setName(event.target.value)} maxLength={200} />
      </Field>
    </Dialog>
  );
}

function DeleteBoard({ board, onClose, onGone }: { board: Board; onClose: () => void; onGone: () => void }) {
  const [busy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    const done = await runRequest(async () => {
      await emptyBoard(board.id);
      await removeBoard(board.id);
    });
    setBusy(false);
    if (!done) return;
    onClose();
    onGone();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Delete board ${board.name}?`}
      description="Its cards move to the main board. Worktrees and sessions are not changed."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" busy={busy} onClick={() => void remove()}>
            Delete board
          </Button>
        </>
      }
    />
  );
}
