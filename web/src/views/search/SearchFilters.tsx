/** What a search is narrowed by. */
import { useAgents, useRepos } from "@/api/queries";
import { Button } from "@/ui/controls/Button";
import { Select } from "@/ui/controls/Field";
import css from "./Search.module.css";
import { AGES, FILTERS, type Filter, type Wanted } from "./searchParams";

const TYPES: Record<string, string> = {
  text: "Prompts and answers",
  thought: "Thoughts",
  tool: "Tools and their output",
  plan: "Plans",
  callback: "Reports of children",
  btw: "Asides",
  error: "Errors",
  session: "Titles",
};

export function FilterBar({ wanted, onChange }: { wanted: Wanted; onChange: (next: Wanted) => void }) {
  const { data: repos = [] } = useRepos();
  const { data: agents = [] } = useAgents();
  const choice = (name: Filter, label: string, any: string, options: [string, string][]) => (
    <Select
      aria-label={label}
      value={wanted[name] ?? ""}
      onChange={(event) => onChange({ ...wanted, [name]: event.target.value })}
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
    <div className={css.filters}>
      {choice("type", "Kind of text", "All texts", Object.entries(TYPES))}
      {choice(
        "repoId",
        "Repository",
        "All repositories",
        repos.map((one) => [one.id, one.name]),
      )}
      {choice(
        "agent",
        "Agent",
        "All agents",
        agents.map((one) => [one.name, one.title]),
      )}
      {choice(
        "since",
        "Age",
        "Any time",
        Object.entries(AGES).map(([name, age]) => [name, age.name]),
      )}
      {choice("archived", "Archive", "With the archive", [
        ["no", "Without the archive"],
        ["yes", "Only the archive"],
      ])}
      {FILTERS.some((name) => wanted[name]) && (
        <Button look="quiet" onClick={() => onChange({ q: wanted.q })}>
          Clear filters
        </Button>
      )}
    </div>
  );
}
