/** Shows what a run serves, in a frame with an origin of its own that reaches nothing of Bough. */
import { useQuery } from "@tanstack/react-query";
import { ExternalLink, RotateCw } from "lucide-react";
import { useState } from "react";
import { previewRun } from "@/api/actions";
import type { Run } from "@/api/types";
import { IconButton } from "@/ui/controls/Button";
import { QueryResult } from "@/ui/feedback/Placeholders";
import css from "./Runs.module.css";
import { runName } from "./runs";

/** The frame's origin is not Bough's, so its scripts may run; it can neither leave its frame nor replace the page. */
const SANDBOX = "allow-scripts allow-same-origin allow-forms allow-popups allow-modals allow-downloads";

export function RunPreview({ run }: { run: Run }) {
  const [loads, setLoads] = useState(0);
  const query = useQuery({
    queryKey: ["preview", "run", run.id],
    queryFn: () => previewRun(run.id),
    staleTime: 0,
    retry: false,
  });
  return (
    <section aria-label={`Preview of ${runName(run)}`}>
      <QueryResult query={query}>
        {({ url }) => (
          <>
            <div className={css.bar}>
              <h3 className={css.heading}>Preview of {run.name ?? "this command"}</h3>
              <IconButton label="Reload preview" size="small" onClick={() => setLoads(loads + 1)}>
                <RotateCw />
              </IconButton>
              <a className={css.link} href={url} target="_blank" rel="noopener noreferrer">
                <ExternalLink aria-hidden /> Open in a tab
              </a>
            </div>
            <iframe
              key={loads}
              className={css.frame}
              title={`What ${runName(run)} serves`}
              src={url}
              sandbox={SANDBOX}
              referrerPolicy="no-referrer"
            />
          </>
        )}
      </QueryResult>
    </section>
  );
}
