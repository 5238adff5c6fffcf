/** The menu with all actions of a session. */
import { Ellipsis } from "lucide-react";
import { Fragment } from "react";
import { IconButton } from "@/ui/controls/Button";
import { Menu, MenuItem, MenuSeparator } from "@/ui/controls/Menu";
import type { SessionAction } from "./sessionActions";

const GROUPS = ["branch", "end", "export", "danger"] as const;

export function SessionMenu({ actions }: { actions: SessionAction[] }) {
  const groups = GROUPS.map((group) =>
    actions.filter((action) => action.group === group && action.button !== "urgent"),
  ).filter((group) => group.length);
  return (
    <Menu
      trigger={
        <IconButton label="More actions">
          <Ellipsis />
        </IconButton>
      }
    >
      {groups.map((group, index) => (
        <Fragment key={group[0]!.group}>
          {index > 0 && <MenuSeparator />}
          {group.map((action) => (
            <MenuItem
              key={action.id}
              icon={action.icon}
              danger={action.danger}
              shortcut={action.keys}
              onSelect={() => void action.run()}
            >
              {action.label}
            </MenuItem>
          ))}
        </Fragment>
      ))}
    </Menu>
  );
}
