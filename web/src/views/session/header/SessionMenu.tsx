/** Everything that can be done with the session, in one menu. */
import { Ellipsis } from "lucide-react";
import { Fragment } from "react";
import { IconButton } from "@/ui/controls/Button";
import { Menu, MenuItem, MenuSeparator } from "@/ui/controls/Menu";
import type { Act } from "./sessionActions";

const GROUPS = ["branch", "end", "take", "danger"] as const;

export function SessionMenu({ acts }: { acts: Act[] }) {
  const groups = GROUPS.map((group) => acts.filter((one) => one.group === group && one.main !== "urgent"));
  return (
    <Menu
      trigger={
        <IconButton label="More about this session">
          <Ellipsis />
        </IconButton>
      }
    >
      {groups
        .filter((group) => group.length)
        .map((group, at) => (
          <Fragment key={group[0]!.group}>
            {at > 0 && <MenuSeparator />}
            {group.map((one) => (
              <MenuItem
                key={one.id}
                icon={one.icon}
                danger={one.danger}
                shortcut={one.keys}
                onSelect={() => void one.run()}
              >
                {one.label}
              </MenuItem>
            ))}
          </Fragment>
        ))}
    </Menu>
  );
}
