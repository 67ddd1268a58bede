"""Clusters of words: from raw text (Brown), or from vectors (k-means)."""

from dualstruct.clustering.brown import brown_clusters
from dualstruct.clustering.kmeans import vector_clusters
from dualstruct.clustering.words import WordClusters

__all__ = ["WordClusters", "brown_clusters", "vector_clusters"]
