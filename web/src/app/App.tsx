/** Renders the page: the providers that every view needs, and the view that belongs to the address. */
import { QueryClientProvider } from "@tanstack/react-query";
import { Tooltip } from "radix-ui";
import { lazy, Suspense, useEffect, useState } from "react";
import { Route, Switch } from "wouter";
import { keyHeaders, socketProtocols } from "@/api/pageKey";
import { client } from "@/api/queries";
import { EventApplier } from "@/live/applyEvents";
import { EventStream } from "@/live/eventStream";
import { StreamContext } from "@/live/hooks";
import { Skeleton } from "@/ui/feedback/Placeholders";
import { dismissOffline, Toaster } from "@/ui/feedback/toast";
import { listenForKeys } from "./keyboard/shortcuts";
import { Shell } from "./Shell";

// Each view is loaded on first use, which keeps the first page small.
const Home = lazy(() => import("@/views/home/Home"));
const Board = lazy(() => import("@/views/board/Board"));
const Tree = lazy(() => import("@/views/tree/Tree"));
const Compare = lazy(() => import("@/views/compare/Compare"));
const Race = lazy(() => import("@/views/race/Race"));
const Review = lazy(() => import("@/views/review/Review"));
const Session = lazy(() => import("@/views/session/Session"));
const Search = lazy(() => import("@/views/search/Search"));
const NewSession = lazy(() => import("@/views/new-session/NewSession"));
const Import = lazy(() => import("@/views/import/Import"));
const AddRepo = lazy(() => import("@/views/add-repo/AddRepo"));
const Settings = lazy(() => import("@/views/settings/Settings"));
const Welcome = lazy(() => import("@/views/welcome/Welcome"));
const NotFound = lazy(() => import("./NotFound"));

async function whyRefused(): Promise<"locked" | "offline"> {
  const answer = await fetch("/api/boards?limit=1", { headers: keyHeaders() }).catch(() => null);
  return answer?.status === 401 ? "locked" : "offline";
}

function makeStream(): EventStream {
  const url = `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/api/events`;
  const stream = new EventStream(url, whyRefused, socketProtocols);
  stream.listen(new EventApplier(client).take);
  stream.listen((event) => event.type === "stream.ready" && dismissOffline());
  return stream;
}

export function App() {
  const [stream] = useState(makeStream);
  useEffect(() => stream.start(), [stream]);
  useEffect(listenForKeys, []);
  return (
    <QueryClientProvider client={client}>
      <StreamContext value={stream}>
        <Tooltip.Provider delayDuration={400}>
          <Shell>
            <Suspense fallback={<Skeleton lines={6} />}>
              <Switch>
                <Route path="/" component={Home} />
                <Route path="/board/:boardId?" component={Board} />
                <Route path="/tree/:sessionId/compare/:left/:right">
                  {(params) => <Compare params={params} />}
                </Route>
                <Route path="/tree/:sessionId" component={Tree} />
                <Route path="/review/:kind/:subjectId">{(params) => <Review params={params} />}</Route>
                <Route path="/race/:raceId" component={Race} />
                <Route path="/session/:sessionId">
                  {({ sessionId }) => <Session key={sessionId} sessionId={sessionId} />}
                </Route>
                <Route path="/search" component={Search} />
                <Route path="/new" component={NewSession} />
                <Route path="/import" component={Import} />
                <Route path="/repos/add" component={AddRepo} />
                <Route path="/settings/:part?" component={Settings} />
                <Route path="/welcome" component={Welcome} />
                <Route component={NotFound} />
              </Switch>
            </Suspense>
          </Shell>
          <Toaster />
        </Tooltip.Provider>
      </StreamContext>
    </QueryClientProvider>
  );
}
