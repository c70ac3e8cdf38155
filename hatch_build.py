"""Add the addresses of the project to the metadata of its packages; hatchling calls this when it builds one.

The repository does not contain its own address. The release workflow sets `REPOSITORY_URL` to the repository that it
runs in, and `SITE_URL` to that of the pages; without `REPOSITORY_URL` a package has no addresses.
"""

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ProjectUrls(MetadataHookInterface):
    """Fills `project.urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the addresses from the environment."""
        repository = os.environ.get("REPOSITORY_URL", "").rstrip("/")
        if not repository:
            return
        metadata["urls"] = {
            "Documentation": os.environ.get("SITE_URL") or f"{repository}#readme",
            "Source": repository,
            "Changelog": f"{repository}/blob/main/CHANGELOG.md",
            "Issues": f"{repository}/issues",
        }
