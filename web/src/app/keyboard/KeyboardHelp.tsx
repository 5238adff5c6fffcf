/** Lists the keyboard shortcuts of the current view, by group. */
import { Dialog } from "@/ui/controls/Dialog";
import { Kbd } from "@/ui/controls/Kbd";
import css from "./KeyboardHelp.module.css";
import { useOfferedActions } from "./shortcuts";

export default function KeyboardHelp({ onClose }: { onClose: () => void }) {
  const keyed = useOfferedActions().filter((action) => action.keys);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Keyboard shortcuts"
      description="Keyboard shortcuts for this view"
      wide
    >
      <div className={css.groups}>
        {[...Map.groupBy(keyed, (action) => action.group)].map(([group, actions]) => (
          <section key={group}>
            <h3 className={css.heading}>{group}</h3>
            <dl className={css.keys}>
              {actions.map((action) => (
                <div key={action.label} className={css.row}>
                  <dt>{action.label}</dt>
                  <dd>
                    <Kbd keys={action.keys!} />
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
