/** A drop-down menu. */
import { DropdownMenu } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import { Kbd } from "./Kbd";
import css from "./Menu.module.css";

export function Menu({
  trigger,
  children,
  align = "end",
  onCloseFocus,
}: {
  trigger: ReactElement;
  children: ReactNode;
  align?: "start" | "end";
  /** Called when the menu gives the focus back to its trigger; `preventDefault` keeps it from doing so. */
  onCloseFocus?: (event: Event) => void;
}) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          className={css.menu}
          align={align}
          sideOffset={6}
          collisionPadding={8}
          onCloseAutoFocus={onCloseFocus}
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export function MenuItem({
  icon,
  children,
  onSelect,
  danger,
  disabled,
  shortcut,
}: {
  icon?: ReactNode;
  children: ReactNode;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
  shortcut?: string;
}) {
  return (
    <DropdownMenu.Item
      className={`${css.item} ${danger ? css.danger : ""}`}
      onSelect={onSelect}
      disabled={disabled}
    >
      {icon}
      <span className={css.name}>{children}</span>
      {shortcut && <Kbd keys={shortcut} />}
    </DropdownMenu.Item>
  );
}

export const MenuSeparator = () => <DropdownMenu.Separator className={css.line} />;
export const MenuLabel = ({ children }: { children: ReactNode }) => (
  <DropdownMenu.Label className={css.label}>{children}</DropdownMenu.Label>
);
