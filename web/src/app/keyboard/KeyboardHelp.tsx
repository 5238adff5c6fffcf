/** Every key that does something now, by group. */
import { Dialog } from "@/ui/controls/Dialog";
import { Kbd } from "@/ui/controls/Kbd";
import css from "./KeyboardHelp.module.css";
import { useOffered } from "./shortcuts";

export default function KeyHelp({ onClose }: { onClose: () => void }) {
  const keyed = useOffered().filter((one) => one.keys);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Keys"
      description="What each key does here. Other views have others."
      wide
    >
      <div className={css.groups}>
        {[...Map.groupBy(keyed, (one) => one.group)].map(([group, actions]) => (
          <section key={group}>
            <h3 className={css.heading}>{group}</h3>
            <dl className={css.keys}>
              {actions.map((one) => (
                <div key={one.label} className={css.row}>
                  <dt>{one.label}</dt>
                  <dd>
                    <Kbd keys={one.keys!} />
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
