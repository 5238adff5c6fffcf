/** The filters of a search. */
import { useAgents, useRepos } from "@/api/queries";
import { Button } from "@/ui/controls/Button";
import { Select } from "@/ui/controls/Field";
import list from "@/ui/layout/listView.module.css";
import css from "./Search.module.css";
import { AGE_LIMITS, FILTERS, type FilterName, type SearchParams } from "./searchParams";

const TYPES: Record<string, string> = {
  text: "Prompts and answers",
  thought: "Thoughts",
  tool: "Tool calls and output",
  plan: "Plans",
  callback: "Reports",
  btw: "Side questions",
  error: "Errors",
  session: "Titles",
};

export function SearchFilters({
  params,
  onChange,
}: {
  params: SearchParams;
  onChange: (next: SearchParams) => void;
}) {
  const { data: repos = [] } = useRepos();
  const { data: agents = [] } = useAgents();
  const choice = (name: FilterName, label: string, any: string, options: [string, string][]) => (
    <Select
      aria-label={label}
      value={params[name] ?? ""}
      onChange={(event) => onChange({ ...params, [name]: event.target.value })}
      className={css.filter}
    >
      <option value="">{any}</option>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </Select>
  );
  return (
    <div className={`${list.filters} ${css.filters}`}>
      {choice("type", "Type", "All types", Object.entries(TYPES))}
      {choice(
        "repoId",
        "Repository",
        "All repositories",
        repos.map((repo) => [repo.id, repo.name]),
      )}
      {choice(
        "agent",
        "Agent",
        "All agents",
        agents.map((agent) => [agent.name, agent.title]),
      )}
      {choice(
        "since",
        "Age",
        "Any time",
        Object.entries(AGE_LIMITS).map(([name, age]) => [name, age.name]),
      )}
      {choice("archived", "Archive", "Include archived", [
        ["no", "Exclude archived"],
        ["yes", "Only archived"],
      ])}
      {FILTERS.some((name) => params[name]) && (
        <Button variant="quiet" onClick={() => onChange({ q: params.q })}>
          Clear filters
        </Button>
      )}
    </div>
  );
}
