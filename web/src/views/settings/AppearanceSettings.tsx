/** How the page looks and tells of things: kept in this browser. */
import { useState } from "react";
import { canNotify, mayNotify, type Notices } from "@/app/notifications";
import { type Theme, useTheme } from "@/app/theme";
import { usePref } from "@/lib/prefs";
import { Field, Select, Switch } from "@/ui/controls/Field";

export function PagePart() {
  const [theme, setTheme] = useTheme();
  const [notices, setNotices] = usePref<Notices>("notices", "off");
  const [enterSends, setEnterSends] = usePref("enterSends", true);
  const [refused, setRefused] = useState(false);
  const choose = async (next: Notices) => {
    const may = next === "off" || (await mayNotify());
    setRefused(!may);
    setNotices(may ? next : "off");
  };
  return (
    <div>
      <Field label="Theme">
        <Select value={theme} onChange={(event) => setTheme(event.target.value as Theme)}>
          <option value="system">As the system has it</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </Select>
      </Field>
      <Field
        label="Notifications"
        hint="Shown by the browser while this page is open but not in front."
        error={
          refused
            ? "The browser does not allow this page to notify. Change that in its settings for this site."
            : null
        }
      >
        <Select
          value={notices}
          onChange={(event) => void choose(event.target.value as Notices)}
          disabled={!canNotify()}
        >
          <option value="off">None</option>
          <option value="needed">What needs me: questions and failures</option>
          <option value="all">Also finished work</option>
        </Select>
      </Field>
      <Switch
        label="Enter sends"
        hint="Shift+Enter makes a new line. When off, Enter makes a new line; Ctrl+Enter (⌘+Enter) always sends."
        checked={enterSends}
        onChange={setEnterSends}
      />
    </div>
  );
}
