/** The button beside the prompt that lists saved prompts to insert, and saves the present one. */
import { useQuery } from "@tanstack/react-query";
import { BookMarked, FolderGit2, Plus, Settings2 } from "lucide-react";
import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { offeredPromptsQuery } from "@/api/queries";
import { routes } from "@/app/routes";
import { IconButton } from "@/ui/controls/Button";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "@/ui/controls/Menu";
import { PromptDialog } from "@/views/settings/PromptDialog";

const MOST_SHOWN = 40;

export function SavedPrompts({
  sessionId,
  text,
  disabled,
  onInsert,
  onFocus,
}: {
  sessionId: string;
  text: string;
  disabled: boolean;
  onInsert: (text: string) => void;
  /** Gives the focus to the prompt box, once something was inserted. */
  onFocus: () => void;
}) {
  const [, navigate] = useLocation();
  const [saving, setSaving] = useState(false);
  const hasInserted = useRef(false);
  const prompts = useQuery(offeredPromptsQuery(sessionId)).data ?? [];
  return (
    <>
      <Menu
        align="start"
        onCloseFocus={(event) => {
          if (!hasInserted.current) return;
          hasInserted.current = false;
          event.preventDefault();
          onFocus();
        }}
        trigger={
          <IconButton label="Saved prompts" disabled={disabled}>
            <BookMarked />
          </IconButton>
        }
      >
        {prompts.length > 0 && <MenuLabel>Insert</MenuLabel>}
        {prompts.slice(0, MOST_SHOWN).map(({ name, text: content, path }) => (
          <MenuItem
            key={name}
            icon={path ? <FolderGit2 aria-label="From the repository" /> : <BookMarked aria-hidden />}
            onSelect={() => {
              hasInserted.current = true;
              onInsert(content);
            }}
          >
            {name}
          </MenuItem>
        ))}
        {prompts.length > 0 && <MenuSeparator />}
        <MenuItem icon={<Plus aria-hidden />} disabled={!text.trim()} onSelect={() => setSaving(true)}>
          Save this prompt…
        </MenuItem>
        <MenuItem icon={<Settings2 aria-hidden />} onSelect={() => navigate(routes.settingsOf("prompts"))}>
          Manage prompts
        </MenuItem>
      </Menu>
      {saving && <PromptDialog prompt={null} text={text} onClose={() => setSaving(false)} />}
    </>
  );
}
