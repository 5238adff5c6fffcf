/** The first run: a greeting, a tour that plays a small tree live in a scratch repository, and the way to a real agent. */
import { GitFork, MessageCircleQuestion, Play, ShieldQuestion, Sprout } from "lucide-react";
import { useState } from "react";
import { act, beginTour, removeTour } from "@/api/actions";
import { useAgents, useTree } from "@/api/queries";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { usePref } from "@/lib/prefs";
import { Button, ButtonLink } from "@/ui/controls/Button";
import { Skeleton } from "@/ui/feedback/Placeholders";
import { AgentCard } from "@/views/settings/AgentSettings";
import { Stage } from "./TourStage";
import { StepList } from "./TourSteps";
import { current, openRoot, type Place, STEPS } from "./tour";
import css from "./Welcome.module.css";

/** In the order in which one of them becomes the default. */
const FIRST = ["claude-code", "codex", "gemini", "opencode"];

export default function Welcome() {
  useTitle("Welcome");
  const [place, setPlace] = usePref<Place | null>("tour", null);
  const [busy, setBusy] = useState(false);
  const begin = async () => {
    setBusy(true);
    await act(async () => {
      const { repoId } = await beginTour();
      const { id } = await openRoot(repoId);
      const next = { repoId, rootId: id };
      await STEPS[0]!.run(next);
      setPlace(next);
    });
    setBusy(false);
  };
  return (
    <div className={css.welcome}>
      <header className={css.head}>
        <h1>Welcome to Bough</h1>
        <p>
          Bough runs trees of coding-agent sessions. They work in git worktrees, ask you before they do what
          you have not allowed, report to each other, and lose nothing when something is killed.
        </p>
      </header>
      {place ? (
        <Tour key={place.rootId} place={place} forget={() => setPlace(undefined)} />
      ) : (
        <section className={css.start}>
          <ul className={css.points}>
            <li>
              <Sprout aria-hidden /> Open a session and watch it work
            </li>
            <li>
              <ShieldQuestion aria-hidden /> Answer what an agent asks
            </li>
            <li>
              <GitFork aria-hidden /> Fork a conversation, spawn a child that reports back
            </li>
            <li>
              <MessageCircleQuestion aria-hidden /> Ask something aside while it is busy
            </li>
          </ul>
          <p className={css.soft}>
            The tour takes two minutes and needs no key: a demo agent plays it, live, in a scratch repository
            of its own.
          </p>
          <div className={css.row}>
            <Button look="primary" icon={<Play />} busy={busy} onClick={() => void begin()}>
              Start the tour
            </Button>
            <ButtonLink href={routes.new}>Skip it: new session</ButtonLink>
          </div>
        </section>
      )}
      <RealAgents />
    </div>
  );
}

function Tour({ place, forget }: { place: Place; forget: () => void }) {
  const tree = useTree(place.rootId);
  const [taking, setTaking] = useState(false);
  const remove = async () => {
    setTaking(true);
    if (await act(removeTour)) forget();
    setTaking(false);
  };
  // Somebody has taken the tour away, here or elsewhere.
  if (tree.error && !tree.data)
    return (
      <section className={css.start}>
        <p>The tour that was begun here is gone.</p>
        <div className={css.row}>
          <Button look="primary" onClick={forget}>
            Begin anew
          </Button>
        </div>
      </section>
    );
  if (!tree.data) return <Skeleton lines={4} block />;
  const at = current(tree.data);
  return (
    <>
      <div className={css.tour}>
        <StepList place={place} tree={tree.data} at={at} />
        <Stage sessionId={STEPS[Math.min(at, STEPS.length - 1)]!.shows(tree.data)} rootId={place.rootId} />
      </div>
      {at >= STEPS.length && (
        <section className={css.done} aria-label="The tour is over">
          <h2>That was a whole tree</h2>
          <p>Everything you saw is stored. Look at it as a drawing, or take it away again.</p>
          <div className={css.row}>
            <ButtonLink href={routes.tree(place.rootId)} look="primary">
              See the tree
            </ButtonLink>
            <ButtonLink href={routes.new}>New session</ButtonLink>
            <Button look="danger" busy={taking} onClick={() => void remove()}>
              Remove the tour
            </Button>
          </div>
        </section>
      )}
    </>
  );
}

function RealAgents() {
  const { data = [] } = useAgents();
  const real = FIRST.map((name) => data.find((one) => one.name === name)).filter((one) => one !== undefined);
  return (
    <section className={css.agents} aria-labelledby="connect">
      <h2 id="connect">Connect a real agent</h2>
      <p className={css.soft}>
        Any agent that speaks the Agent Client Protocol works. Install one, log in once as it says, and choose
        it in a new session. All others are in the <a href={routes.settingsOf("agents")}>settings</a>.
      </p>
      <ul className={css.cards}>
        {real.map((one) => (
          <li key={one.name}>
            <AgentCard agent={one} heading="h3" />
          </li>
        ))}
      </ul>
    </section>
  );
}
