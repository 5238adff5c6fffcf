/** Settings of saved prompts: add, edit, remove. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { BookMarked, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { removeSavedPrompt, runRequest } from "@/api/actions";
import { savedPromptsQuery } from "@/api/queries";
import type { SavedPrompt } from "@/api/types";
import { firstLine } from "@/lib/format";
import { Button, IconButton } from "@/ui/controls/Button";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import { PromptDialog } from "./PromptDialog";
import css from "./Settings.module.css";

export function PromptSettings() {
  const queries = useQueryClient();
  const [shown, setShown] = useState<SavedPrompt | "new" | null>(null);
  const remove = async (name: string) => {
    await runRequest(() => removeSavedPrompt(name));
    await queries.invalidateQueries({ queryKey: savedPromptsQuery.queryKey });
  };
  return (
    <>
      <div className={css.actions}>
        <Button variant="primary" icon={<Plus />} onClick={() => setShown("new")}>
          Save a prompt
        </Button>
      </div>
      <QueryResult query={useQuery(savedPromptsQuery)}>
        {(prompts) =>
          prompts.length ? (
            <ul className={css.list}>
              {prompts.map((prompt) => (
                <li key={prompt.id} className={css.card}>
                  <div className={css.row}>
                    <h2 className={`${css.grow} ${css.name}`}>{prompt.name}</h2>
                    <Button size="small" onClick={() => setShown(prompt)}>
                      Edit
                    </Button>
                    <IconButton
                      label={`Remove ${prompt.name}`}
                      size="small"
                      onClick={() => void remove(prompt.name)}
                    >
                      <Trash2 />
                    </IconButton>
                  </div>
                  <p className={css.soft}>{firstLine(prompt.text)}</p>
                </li>
              ))}
            </ul>
          ) : (
            <Empty icon={<BookMarked />} title="No saved prompts yet">
              Save what you type often. Prompts of a repository are files in its <code>.bough/prompts</code>.
            </Empty>
          )
        }
      </QueryResult>
      {shown && <PromptDialog prompt={shown === "new" ? null : shown} onClose={() => setShown(null)} />}
    </>
  );
}
