/** The filters of a board. */
import type { Card } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Input, Select } from "@/ui/controls/Field";
import css from "./BoardFilters.module.css";
import { type BoardFilter, isFiltered, NO_FILTER, STATE_FILTER_NAMES, type StateFilter } from "./filterCards";

export function BoardFilters({
  cards,
  filter,
  onChange,
}: {
  cards: Card[];
  filter: BoardFilter;
  onChange: (filter: BoardFilter) => void;
}) {
  const repos = [...new Map(cards.map((card) => [card.repo.id, card.repo.name]))];
  return (
    <search className={css.filters}>
      <Input
        type="search"
        aria-label="Search this board"
        placeholder="Search…"
        className={css.words}
        value={filter.words}
        onChange={(event) => onChange({ ...filter, words: event.target.value })}
      />
      <Select
        aria-label="Repository"
        className={css.choice}
        value={filter.repo}
        onChange={(event) => onChange({ ...filter, repo: event.target.value })}
      >
        <option value="">All repositories</option>
        {repos.map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </Select>
      <Select
        aria-label="Session state"
        className={css.choice}
        value={filter.state}
        onChange={(event) => onChange({ ...filter, state: event.target.value as StateFilter })}
      >
        {Object.entries(STATE_FILTER_NAMES).map(([state, words]) => (
          <option key={state} value={state}>
            {words}
          </option>
        ))}
      </Select>
      {isFiltered(filter) && (
        <Button variant="quiet" onClick={() => onChange(NO_FILTER)}>
          Clear
        </Button>
      )}
    </search>
  );
}
