/** The view of a tree: its sessions on a canvas, and actions on all of them. */
import { Archive, Columns2, EllipsisVertical, Flag, GitBranchPlus, ListTree, OctagonX } from "lucide-react";
import { useMemo, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { archiveSession, runRequest, stopSession } from "@/api/actions";
import { useRaces, useSession, useTree } from "@/api/queries";
import type { Tree as TreeRecord } from "@/api/types";
import { useActions } from "@/app/keyboard/shortcuts";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { plural } from "@/lib/format";
import { useMedia } from "@/lib/media";
import { usePref } from "@/lib/prefs";
import { sessionName } from "@/lib/words";
import { Button, ButtonLink, IconButton } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "@/ui/controls/Menu";
import { QueryResult, Skeleton } from "@/ui/feedback/Placeholders";
import { SpawnDialog } from "@/views/forms/dialogs/SpawnDialog";
import { useCallbacks, useTaskNumbers } from "./canvas/edges/useEdgeData";
import { TreeCanvas } from "./canvas/TreeCanvas";
import { type Folding, foldFinished, pathTo } from "./foldFinished";
import { buildTree, busyFirst, splitFolded, walk } from "./lineage";
import { TreeOutline } from "./outline/TreeOutline";
import { SessionDrawer } from "./SessionDrawer";
import css from "./Tree.module.css";
import { TreeTotals } from "./TreeTotals";

export default function Tree({ params }: { params: { sessionId: string } }) {
  const query = useTree(params.sessionId);
  return (
    <QueryResult query={query} loading={<Skeleton lines={4} block />}>
      {(tree) => <TreeView key={tree.rootSessionId} tree={tree} sessionId={params.sessionId} />}
    </QueryResult>
  );
}

function TreeView({ tree, sessionId }: { tree: TreeRecord; sessionId: string }) {
  const [, navigate] = useLocation();
  const [search, setSearch] = useSearchParams();
  const [picked, setPicked] = useState<string[] | null>(null);
  const [asking, setAsking] = useState(false);
  const [spawnFrom, setSpawnFrom] = useState<string | null>(null);
  const roomy = useMedia("(min-width: 64rem)");
  const inHeader = roomy ? 2 : 0;
  // Beside the drawing where there is room, else instead of it.
  const [outlined, setOutlined] = usePref<boolean | null>("treeOutline", null);
  const outline = outlined ?? roomy;
  const [folding, setFolding] = useState<Folding>(new Map());
  const [all, setAll] = usePref("treeShowsAll", true);
  const nodes = useMemo(
    () =>
      all ? tree.sessions : [...walk(splitFolded(buildTree(tree.sessions)).shown)].map(([item]) => item),
    [all, tree.sessions],
  );
  const shownId = search.get("show") ?? sessionId;
  const roots = useMemo(() => buildTree(nodes), [nodes]);
  const path = useMemo(() => {
    const chosen = shownId === tree.rootSessionId ? null : shownId;
    return pathTo(nodes, chosen ?? mostUrgent(nodes) ?? tree.rootSessionId);
  }, [nodes, shownId, tree.rootSessionId]);
  const branches = useMemo(() => foldFinished(roots, path, folding), [roots, path, folding]);
  const setFold = (id: string, open: boolean) => setFolding(new Map(folding).set(id, open));
  const callbacks = useCallbacks(nodes);
  const numbers = useTaskNumbers(nodes);
  const races = useRaces(tree.rootSessionId).data ?? [];
  const root = tree.sessions.find((session) => session.id === tree.rootSessionId) ?? tree.sessions[0]!;
  useTitle(`${sessionName(root)} · Tree`);
  const open = tree.sessions.find((session) => session.id === search.get("show")) ?? null;
  const show = (id: string | null) => setSearch(id ? { show: id } : {}, { replace: true });

  const choose = (id: string) => {
    if (!picked) return show(id);
    const next = picked.includes(id) ? picked.filter((name) => name !== id) : [...picked, id];
    if (next.length < 2) return setPicked(next);
    navigate(routes.compare(tree.rootSessionId, next[0]!, next[1]!));
  };
  const close = () => {
    const id = open?.id;
    show(null);
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-session="${id}"]`)?.focus());
  };
  const stopAll = () => runRequest(() => stopSession(tree.rootSessionId, { cascade: true }));
  const compare = () => setPicked(picked ? null : open ? [open.id] : []);
  const spawn = () => setSpawnFrom(open?.id ?? root.id);
  const busy = tree.running + tree.asking + tree.queued > 0;

  useActions([
    { label: "New child", group: "Tree", run: spawn },
    { label: picked ? "Stop comparing" : "Compare two sessions", group: "Tree", run: compare },
    { label: "Stop all sessions in this tree", group: "Tree", run: () => void stopAll() },
    { label: outline ? "Hide outline" : "Show outline", group: "Tree", run: () => setOutlined(!outline) },
    { label: "Archive this tree", group: "Tree", run: () => setAsking(true) },
    {
      label: all ? "Hide side questions and archived" : "Show side questions and archived",
      group: "Tree",
      run: () => setAll(!all),
    },
    ...races.map((race, at) => ({
      label: `Open race ${races.length - at}`,
      group: "Tree",
      run: () => navigate(routes.race(race.raceId)),
    })),
  ]);

  return (
    <div className={css.view}>
      <header className={css.header}>
        <div className={css.names}>
          <h1 className={css.title}>
            <span className="visually-hidden">Tree: </span>
            {sessionName(root)}
          </h1>
          <TreeTotals tree={tree} />
        </div>
        <div className={css.actions}>
          {races
            .map((race, at) => (
              <ButtonLink key={race.raceId} href={routes.race(race.raceId)} icon={<Flag />}>
                Race{races.length > 1 ? ` ${races.length - at}` : ""}
              </ButtonLink>
            ))
            .slice(0, inHeader)}
          {roomy ? (
            <Button icon={<ListTree />} aria-pressed={outline} onClick={() => setOutlined(!outline)}>
              Outline
            </Button>
          ) : (
            <IconButton label="Outline" aria-pressed={outline} onClick={() => setOutlined(!outline)}>
              <ListTree />
            </IconButton>
          )}
          <Button
            icon={<Columns2 />}
            aria-pressed={picked !== null}
            onClick={compare}
            disabled={nodes.length < 2}
          >
            {picked ? "Stop comparing" : "Compare"}
          </Button>
          <Button icon={<GitBranchPlus />} onClick={spawn}>
            New child
          </Button>
          <Menu
            trigger={
              <IconButton label="More">
                <EllipsisVertical />
              </IconButton>
            }
          >
            <MenuItem onSelect={() => setAll(!all)}>
              {all ? "Hide side questions and archived" : "Show side questions and archived"}
            </MenuItem>
            {races.length > inHeader && <MenuLabel>Races</MenuLabel>}
            {races.slice(inHeader).map((race, at) => (
              <MenuItem key={race.raceId} icon={<Flag />} onSelect={() => navigate(routes.race(race.raceId))}>
                Race {races.length - inHeader - at}
              </MenuItem>
            ))}
            <MenuSeparator />
            <MenuItem icon={<OctagonX />} disabled={!busy} onSelect={() => void stopAll()}>
              Stop all
            </MenuItem>
            <MenuItem icon={<Archive />} danger onSelect={() => setAsking(true)}>
              Archive all…
            </MenuItem>
          </Menu>
        </div>
      </header>
      {picked && (
        <p className={css.hint} role="status">
          {picked.length ? "Choose the second session." : "Choose two sessions to compare."}
        </p>
      )}
      <div className={css.body}>
        {outline && (
          <TreeOutline
            branches={branches}
            open={open?.id ?? null}
            picked={picked}
            start={path.at(-1) ?? root.id}
            onChoose={choose}
            onFold={setFold}
          />
        )}
        {(roomy || !outline) && (
          <div className={css.canvas}>
            <TreeCanvas
              {...{ branches, callbacks, numbers, races, picked, path }}
              open={open?.id ?? null}
              start={open?.id ?? sessionId}
              onChoose={choose}
              onUnfold={(id) => setFold(id, true)}
              onOpen={(id) => navigate(routes.session(id))}
            />
          </div>
        )}
        {open && !picked && (
          <SessionDrawer node={open} onClose={close} onSpawn={() => setSpawnFrom(open.id)} />
        )}
      </div>
      {spawnFrom && <Spawn sessionId={spawnFrom} onClose={() => setSpawnFrom(null)} />}
      <ArchiveAll tree={tree} open={asking} onClose={() => setAsking(false)} />
    </div>
  );
}

/** Returns the session that waits for a person or works, if there is one. */
function mostUrgent(nodes: TreeRecord["sessions"]): string | null {
  const active = nodes.filter((node) => node.status === "active");
  const [first] = [...walk(busyFirst(active.map((node) => ({ node, children: [] }))))];
  return first && ["waiting_permission", "running"].includes(first[0].activity) ? first[0].id : null;
}

function Spawn({ sessionId, onClose }: { sessionId: string; onClose: () => void }) {
  const session = useSession(sessionId).data;
  return session ? <SpawnDialog session={session} open onClose={onClose} /> : null;
}

function ArchiveAll({ tree, open, onClose }: { tree: TreeRecord; open: boolean; onClose: () => void }) {
  const [busy, setBusy] = useState(false);
  const archive = async () => {
    setBusy(true);
    const done = await runRequest(() =>
      archiveSession(tree.rootSessionId, { archived: true, cascade: true }),
    );
    setBusy(false);
    if (done) onClose();
  };
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="Archive this tree?"
      description={`Archives ${plural(tree.used.sessions, "session")}. Nothing is deleted, and you can unarchive them.`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" busy={busy} onClick={() => void archive()}>
            Archive all
          </Button>
        </>
      }
    >
      {tree.running > 0 && (
        <p>{plural(tree.running, "session is", "sessions are")} working and will not be stopped.</p>
      )}
    </Dialog>
  );
}
