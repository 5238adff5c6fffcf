/** Copies text for the person. */
import { toast } from "@/ui/feedback/toast";

export async function copy(text: string, label: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${label} copied.`);
  } catch {
    toast("Couldn’t copy: the browser denied access to the clipboard.", { tone: "failed" });
  }
}
