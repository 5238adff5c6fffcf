/** The welcome page: a tour in a scratch repository, and how to connect a real agent. */
import { GitFork, MessageCircleQuestion, Play, ShieldQuestion, Sprout } from "lucide-react";
import { useState } from "react";
import { beginTour, removeTour, runRequest } from "@/api/actions";
import { useAgents, useTree } from "@/api/queries";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { usePref } from "@/lib/prefs";
import { Button, ButtonLink } from "@/ui/controls/Button";
import { Skeleton } from "@/ui/feedback/Placeholders";
import { toastMadeRoom } from "@/views/forms/layout/toastMadeRoom";
import { useMarkAllSeen } from "@/views/session/useMarkSeen";
import { AgentCard } from "@/views/settings/AgentSettings";
import { TourStage } from "./TourStage";
import { TourStepList } from "./TourStepList";
import {
  createTourSession,
  currentStep,
  STEPS,
  shownSession,
  type TourIds,
  tourAgent,
  unreadAfterTour,
} from "./tourSteps";
import css from "./Welcome.module.css";

export default function Welcome() {
  useTitle("Welcome");
  const [tour, setTour] = usePref<TourIds | null>("tour", null);
  const [busy, setBusy] = useState(false);
  const agents = useAgents();
  const guide = tourAgent(agents.data ?? []);
  const start = async () => {
    if (!guide) return;
    setBusy(true);
    await runRequest(async () => {
      const { repoId } = await beginTour();
      const session = await createTourSession(repoId, guide.name);
      toastMadeRoom(session);
      const { id } = session;
      await STEPS[0]!.run(id, guide.tour);
      setTour({ repoId, rootId: id });
    });
    setBusy(false);
  };
  return (
    <div className={css.welcome}>
      <header className={css.head}>
        <h1>Welcome to Bough</h1>
        <p>
          Bough runs trees of coding-agent sessions. They work in git worktrees, ask before they do what you
          have not allowed, report to each other, and survive crashes.
        </p>
      </header>
      {tour ? (
        <Tour key={tour.rootId} tour={tour} forget={() => setTour(undefined)} />
      ) : (
        <section className={css.start}>
          <ul className={css.points}>
            <li>
              <Sprout aria-hidden /> Start a session and watch it work
            </li>
            <li>
              <ShieldQuestion aria-hidden /> Approve or deny what an agent wants to do
            </li>
            <li>
              <GitFork aria-hidden /> Fork a conversation, or spawn a child that reports back
            </li>
            <li>
              <MessageCircleQuestion aria-hidden /> Ask a side question while it is busy
            </li>
          </ul>
          <p className={css.soft}>
            {agents.data && !guide
              ? "No installed agent can play the tour."
              : "The tour takes two minutes and needs no key: a built-in agent plays it live in a scratch repository."}
          </p>
          <div className={css.row}>
            <Button
              variant="primary"
              icon={<Play />}
              busy={busy}
              disabled={!guide}
              onClick={() => void start()}
            >
              Start tour
            </Button>
            <ButtonLink href={routes.new}>Skip to new session</ButtonLink>
          </div>
        </section>
      )}
      <RealAgents />
    </div>
  );
}

function Tour({ tour, forget }: { tour: TourIds; forget: () => void }) {
  const tree = useTree(tour.rootId);
  const prompts = tourAgent(useAgents().data ?? [])?.tour;
  const [removing, setRemoving] = useState(false);
  useMarkAllSeen(tree.data ? unreadAfterTour(tree.data) : []);
  const remove = async () => {
    setRemoving(true);
    if (await runRequest(removeTour)) forget();
    setRemoving(false);
  };
  // The tour was removed, here or elsewhere.
  if (tree.error && !tree.data)
    return (
      <section className={css.start}>
        <p>The tour was removed.</p>
        <div className={css.row}>
          <Button variant="primary" onClick={forget}>
            Start again
          </Button>
        </div>
      </section>
    );
  if (!tree.data) return <Skeleton lines={4} block />;
  const at = currentStep(tree.data);
  return (
    <>
      <div className={css.tour}>
        <TourStepList rootId={tour.rootId} prompts={prompts} tree={tree.data} at={at} />
        <TourStage sessionId={shownSession(tree.data)} rootId={tour.rootId} />
      </div>
      {at >= STEPS.length && (
        <section className={css.done} aria-label="Tour complete">
          <h2>Tour complete</h2>
          <p>Everything is stored. View it as a tree, or remove it.</p>
          <div className={css.row}>
            <ButtonLink href={routes.tree(tour.rootId)} variant="primary">
              View tree
            </ButtonLink>
            <ButtonLink href={routes.new}>New session</ButtonLink>
            <Button variant="danger" busy={removing} onClick={() => void remove()}>
              Remove tour
            </Button>
          </div>
        </section>
      )}
    </>
  );
}

function RealAgents() {
  // Agents that need a login are real ones; the others come with Bough.
  const real = (useAgents().data ?? []).filter((agent) => agent.login.how);
  return (
    <section className={css.agents} aria-labelledby="connect">
      <h2 id="connect">Connect a real agent</h2>
      <p className={css.soft}>
        Any agent that speaks the Agent Client Protocol works. Install one, log in once, and choose it in a
        new session. More about agents is in the <a href={routes.settingsOf("agents")}>settings</a>.
      </p>
      <ul className={css.cards}>
        {real.map((agent) => (
          <li key={agent.name}>
            <AgentCard agent={agent} heading="h3" />
          </li>
        ))}
      </ul>
    </section>
  );
}
