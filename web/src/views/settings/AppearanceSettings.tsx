/** Settings of this browser: theme, notifications, keys. */
import { useState } from "react";
import { canNotify, type NotificationLevel, requestPermission } from "@/app/notifications";
import { type Theme, useTheme } from "@/app/theme";
import { EDITORS, type Editor } from "@/lib/editorLink";
import { usePref } from "@/lib/prefs";
import { Field, Select, Switch } from "@/ui/controls/Field";

export function AppearanceSettings() {
  const [theme, setTheme] = useTheme();
  const [notices, setNotices] = usePref<NotificationLevel>("notices", "off");
  const [editor, setEditor] = usePref<Editor>("editor", "vscode");
  const [enterSends, setEnterSends] = usePref("enterSends", true);
  const [refused, setRefused] = useState(false);
  const choose = async (next: NotificationLevel) => {
    const allowed = next === "off" || (await requestPermission());
    setRefused(!allowed);
    setNotices(allowed ? next : "off");
  };
  return (
    <div>
      <Field label="Theme">
        <Select value={theme} onChange={(event) => setTheme(event.target.value as Theme)}>
          <option value="system">System</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </Select>
      </Field>
      <Field
        label="Notifications"
        hint="Shown while this page is open but not in front."
        error={
          refused ? "The browser blocks notifications from this page. Allow them in its site settings." : null
        }
      >
        <Select
          value={notices}
          onChange={(event) => void choose(event.target.value as NotificationLevel)}
          disabled={!canNotify()}
        >
          <option value="off">None</option>
          <option value="needed">Approvals and failures</option>
          <option value="all">Approvals, failures and finished turns</option>
        </Select>
      </Field>
      <Field
        label="Editor"
        hint="Opens the folders of sessions and worktrees, by SSH if the server is elsewhere."
      >
        <Select value={editor} onChange={(event) => setEditor(event.target.value as Editor)}>
          {Object.entries(EDITORS).map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Select>
      </Field>
      <Switch
        label="Send with Enter"
        hint="Shift+Enter adds a new line. When off, Enter adds a new line. Ctrl+Enter (⌘+Enter) always sends."
        checked={enterSends}
        onChange={setEnterSends}
      />
    </div>
  );
}
