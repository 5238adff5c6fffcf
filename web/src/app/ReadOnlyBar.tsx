/** Tells a viewer that this page only shows. */
import { Eye } from "lucide-react";
import css from "./ConnectionBar.module.css";

export const ReadOnlyBar = () => (
  <div className={css.bar} role="note">
    <Eye aria-hidden />
    <span>
      You can only read here. To work with sessions, ask an admin of this server for the role operator.
    </span>
  </div>
);
