/** The home page: what needs the user, what is running and queued, recent trees, and usage. */
import { CheckCheck, Coffee, FolderPlus, Plus, Sprout } from "lucide-react";
import { useState } from "react";
import { runRequest, seeSession, unseeSession } from "@/api/actions";
import { useHome, useMay } from "@/api/queries";
import { useActions } from "@/app/keyboard/shortcuts";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { plural } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/controls/Button";
import { Empty, QueryResult, Skeleton } from "@/ui/feedback/Placeholders";
import { toast } from "@/ui/feedback/toast";
import css from "./Home.module.css";
import { NeedsYou } from "./NeedsYou";
import { PromptBox } from "./prompt/PromptBox";
import { Queued, Running } from "./RunningAndQueued";
import { describeNeeds, type HomeData, isFirstRun, unreadSessionIds } from "./summaries";
import { Totals, Trees } from "./TreesAndTotals";
import { UsageReport } from "./usage/UsageReport";
import { useItemKeys } from "./useItemKeys";

export default function Home() {
  useTitle("");
  return (
    <QueryResult
      query={useHome()}
      loading={
        <div className={css.view}>
          <h1>Home</h1>
          <Skeleton lines={6} block />
        </div>
      }
    >
      {(home) => (isFirstRun(home) ? <FirstRun /> : <Page home={home} />)}
    </QueryResult>
  );
}

/** Viewers can start nothing. */
const NewPrompt = () => useMay("operator") && <PromptBox />;

function FirstRun() {
  return (
    <div className={css.view}>
      <h1 className="visually-hidden">Home</h1>
      <NewPrompt />
      <Empty
        icon={<Sprout />}
        title="Welcome to Bough"
        actions={
          <>
            <ButtonLink href={routes.welcome} variant="primary">
              Take the tour
            </ButtonLink>
            <ButtonLink href={routes.new} icon={<Plus />}>
              New session
            </ButtonLink>
            <ButtonLink href={routes.addRepo} icon={<FolderPlus />}>
              Add a repository
            </ButtonLink>
          </>
        }
      >
        The tour shows sessions, forks and children in a few minutes, with a built-in agent that needs no key.
        Or start with your own work.
      </Empty>
    </div>
  );
}

function Page({ home }: { home: HomeData }) {
  const root = useItemKeys();
  const [busy, setBusy] = useState(false);
  const unread = unreadSessionIds(home);
  const needs = describeNeeds(home.counts);
  const seeAll = async () => {
    setBusy(true);
    const done = await runRequest(() => Promise.all(unread.map((id) => seeSession(id))));
    setBusy(false);
    if (done)
      toast(`Marked ${plural(unread.length, "session")} as read.`, {
        action: {
          label: "Undo",
          run: () => void runRequest(() => Promise.all(unread.map((id) => unseeSession(id)))),
        },
      });
  };
  useActions(unread.length ? [{ label: "Mark all as read", group: "Home", run: () => void seeAll() }] : []);
  return (
    <div className={css.view} ref={root}>
      <h1 className="visually-hidden">Home</h1>
      <NewPrompt />
      <div className={css.columns}>
        <div className={css.main}>
          <section aria-labelledby="home-needs">
            <header className={css.sectionHead}>
              <h2 id="home-needs" className={css.first}>
                Needs you
              </h2>
              {unread.length > 0 && (
                <Button
                  size="small"
                  variant="quiet"
                  icon={<CheckCheck />}
                  busy={busy}
                  onClick={() => void seeAll()}
                >
                  Mark all as read
                </Button>
              )}
            </header>
            {needs ? (
              <>
                <p className={css.sum}>{needs}</p>
                <NeedsYou home={home} />
              </>
            ) : (
              <div className={css.calm}>
                <Coffee aria-hidden />
                <div>
                  <p className={css.calmTitle}>All caught up</p>
                  <p>
                    {home.running.length
                      ? "Agents are working. Approvals and results will appear here."
                      : "Approvals, failures and finished work will appear here."}
                  </p>
                </div>
              </div>
            )}
          </section>
          {home.running.length > 0 && (
            <section aria-labelledby="home-running">
              <header className={css.sectionHead}>
                <h2 id="home-running">Running</h2>
                <span className={css.count}>{home.counts.running}</span>
              </header>
              <Running sessions={home.running} />
            </section>
          )}
          {home.queued.length > 0 && (
            <section aria-labelledby="home-queued">
              <header className={css.sectionHead}>
                <h2 id="home-queued">Queued</h2>
                <span className={css.count}>{home.counts.queued}</span>
              </header>
              <Queued sessions={home.queued} />
            </section>
          )}
        </div>
        <div className={css.side}>
          {home.trees.length > 0 && (
            <section aria-labelledby="home-trees">
              <header className={css.sectionHead}>
                <h2 id="home-trees">Recent trees</h2>
              </header>
              <Trees trees={home.trees} />
            </section>
          )}
          <section aria-labelledby="home-totals">
            <header className={css.sectionHead}>
              <h2 id="home-totals">Usage</h2>
            </header>
            <Totals totals={home.totals} />
            <UsageReport />
          </section>
        </div>
      </div>
    </div>
  );
}
