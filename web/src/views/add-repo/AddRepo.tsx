/** The view that adds repositories: by cloning them, from those found on the server's machine, or from any folder. */
import { FolderLock } from "lucide-react";
import { useState } from "react";
import { useMay } from "@/api/queries";
import { useTitle } from "@/app/title";
import { Button } from "@/ui/controls/Button";
import { Empty } from "@/ui/feedback/Placeholders";
import list from "@/ui/layout/listView.module.css";
import css from "./AddRepo.module.css";
import { CloneForm } from "./CloneForm";
import { Clones } from "./Clones";
import { FolderBrowser } from "./FolderBrowser";
import { FoundRepos } from "./FoundRepos";

export default function AddRepo() {
  useTitle("Add a repository");
  const [browsing, setBrowsing] = useState(false);
  const mayAdd = useMay("operator");
  return (
    <div className={list.view}>
      <header>
        <h1>Add a repository</h1>
        <p className={css.about}>
          Sessions work in repositories inside the workspace root of the server. Adding one changes no files.
        </p>
      </header>
      {mayAdd ? (
        <>
          <section className={css.section} aria-labelledby="clone">
            <h2 id="clone">Clone</h2>
            <CloneForm />
            <Clones />
          </section>
          <section className={css.section} aria-labelledby="found">
            <div className={css.heading}>
              <h2 id="found">On this machine</h2>
              <Button size="small" aria-expanded={browsing} onClick={() => setBrowsing(!browsing)}>
                {browsing ? "Hide folders" : "Browse folders"}
              </Button>
            </div>
            {browsing && <FolderBrowser />}
            <FoundRepos />
          </section>
        </>
      ) : (
        <Empty icon={<FolderLock />} title="Operators only">
          Ask an operator or admin of this server to add a repository.
        </Empty>
      )}
    </div>
  );
}
