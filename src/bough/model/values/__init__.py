"""Small values that everything uses: ids, times, types of files, and texts made safe to show. They know no records."""
