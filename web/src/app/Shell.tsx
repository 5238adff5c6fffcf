/** The frame around every view: navigation, pending approvals, connection state. */
import { House, LayoutDashboard, Plus, Search, Settings } from "lucide-react";
import { lazy, type ReactNode, Suspense } from "react";
import { Link, useLocation } from "wouter";
import { useApprovals, useMay } from "@/api/queries";
import { useMedia } from "@/lib/media";
import { ButtonLink } from "@/ui/controls/Button";
import { useDrawer } from "@/views/terminal/drawer";
import { ConnectionBar } from "./ConnectionBar";
import { CommandPalette } from "./keyboard/CommandPalette";
import { useActions } from "./keyboard/shortcuts";
import { useNotifications } from "./notifications";
import { ReadOnlyBar } from "./ReadOnlyBar";
import { routes } from "./routes";
import css from "./Shell.module.css";
import { SessionsDrawer, Sidebar, useSidebarOpen } from "./sidebar/Sidebar";
import { useTheme } from "./theme";
import { useTabTitle } from "./title";

const TerminalDrawer = lazy(() => import("@/views/terminal/TerminalDrawer"));

const PLACES = [
  { href: routes.home, label: "Home", icon: <House />, keys: "g h" },
  { href: routes.board, label: "Board", icon: <LayoutDashboard />, keys: "g b" },
  { href: routes.search(), label: "Search", icon: <Search />, keys: "g s" },
  { href: routes.settings, label: "Settings", icon: <Settings />, keys: "g ," },
];

const isAt = (location: string, href: string) =>
  href === "/" ? location === "/" : location === href || location.startsWith(`${href}/`);

export function Shell({ children }: { children: ReactNode }) {
  const [location, navigate] = useLocation();
  const waiting = useApprovals().data?.length ?? 0;
  const mayWork = useMay("operator");
  const drawer = useDrawer();
  const isPhone = useMedia("(max-width: 48rem)");
  const [sidebarOpen] = useSidebarOpen();
  useTheme();
  useTabTitle();
  useNotifications();
  useActions([
    ...PLACES.map(({ href, label, keys }) => ({
      keys,
      label: `Go to ${label}`,
      group: "Go to",
      run: () => navigate(href),
    })),
    ...(mayWork
      ? [
          { keys: "c", label: "New session", group: "Sessions", run: () => navigate(routes.new) },
          {
            label: "Add a repository",
            group: "Sessions",
            run: () => navigate(routes.addRepo),
            words: "clone",
          },
          { label: "Import conversations", group: "Sessions", run: () => navigate(routes.import) },
        ]
      : []),
  ]);
  return (
    <div className={css.shell}>
      <a className={css.skip} href="#main">
        Skip to content
      </a>
      <div className={`${css.side} ${sidebarOpen ? css.wide : ""}`}>
        <nav className={css.nav} aria-label="Main">
          <Link href={routes.home} className={css.brand} aria-label="Bough, home">
            <img src="/icon.svg" alt="" width={28} height={28} />
            <span>Bough</span>
          </Link>
          {mayWork && (
            <ButtonLink href={routes.new} variant="primary" icon={<Plus />} className={css.new}>
              <span className={css.word}>New session</span>
            </ButtonLink>
          )}
          <ul className={css.places}>
            {PLACES.map(({ href, label, icon }) => (
              <li key={href}>
                <Link
                  href={href}
                  className={css.place}
                  aria-current={isAt(location, href) ? "page" : undefined}
                >
                  {icon}
                  <span className={css.word}>{label}</span>
                  {label === "Home" && waiting > 0 && (
                    <span className={css.count}>
                      {waiting}
                      <span className="visually-hidden"> need your approval</span>
                    </span>
                  )}
                </Link>
              </li>
            ))}
            {isPhone && (
              <li>
                <SessionsDrawer className={css.place} wordClass={css.word} />
              </li>
            )}
          </ul>
        </nav>
        {!isPhone && <Sidebar />}
        <div className={css.foot}>
          <CommandPalette />
        </div>
      </div>
      <div className={css.view}>
        <ConnectionBar />
        {!mayWork && <ReadOnlyBar />}
        <main id="main" className={css.main} tabIndex={-1}>
          {children}
        </main>
        {drawer && (
          <Suspense fallback={null}>
            <TerminalDrawer />
          </Suspense>
        )}
      </div>
    </div>
  );
}
