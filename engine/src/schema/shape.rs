//! What is found out about a schema as a whole, once all of it is compiled.

use super::{
    Schema,
    node::{NodeId, Property, Tag},
};

impl Schema {
    /// How many subschemas are searched for the tags of a branch, and how many tags it may have.
    const TAGGED_MAX: usize = 16;
    const TAGS_MAX: usize = 4;

    /// Finds what tells the branches from each other.
    pub(super) fn tag_branches(&mut self) {
        for id in 0..self.nodes.len() {
            let node = &mut self.nodes[id];
            let mut any_of = std::mem::take(&mut node.any_of);
            let mut one_of = std::mem::take(&mut node.one_of);
            for branch in any_of.iter_mut().chain(&mut one_of) {
                branch.tags = self.tags(branch.schema);
            }
            let node = &mut self.nodes[id];
            (node.any_of, node.one_of) = (any_of, one_of);
        }
    }

    /// The tags of what holds whenever this subschema does.
    fn tags(&self, schema: NodeId) -> Vec<Tag> {
        let mut tags = Vec::new();
        let mut schemas = vec![schema];
        let mut index = 0;
        while index < schemas.len().min(Self::TAGGED_MAX) {
            let node = &self.nodes[schemas[index]];
            index += 1;
            for place in &node.required {
                let Property { name, schema } = &node.properties[*place];
                if let Some(constants) = self.constants(*schema) {
                    let name = name.clone();
                    tags.push(Tag { name, constants });
                }
            }
            schemas.extend(node.reference);
            schemas.extend(&node.all_of);
        }
        tags.truncate(Self::TAGS_MAX);
        tags
    }

    /// The subschema with the constants that this one allows, if it allows no other.
    fn constants(&self, schema: NodeId) -> Option<NodeId> {
        let next = |id: &NodeId| self.nodes[*id].reference;
        std::iter::successors(Some(schema), next)
            .take(Self::TAGGED_MAX)
            .find(|id| !self.nodes[*id].values.is_empty())
    }

    /// Refuses a subschema that applies to a value because it applies to that value: to check it
    /// would never end.
    pub(super) fn check_ends(&self) -> Result<(), String> {
        // 0: not looked at; 1: being looked at; 2: it ends.
        let mut state = vec![0_u8; self.nodes.len()];
        let mut stack: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
        for start in 0..self.nodes.len() {
            if state[start] != 0 {
                continue;
            }
            state[start] = 1;
            stack.push((start, self.nodes[start].in_place()));
            while let Some((node, next)) = stack.last_mut() {
                let Some(id) = next.pop() else {
                    state[*node] = 2;
                    stack.pop();
                    continue;
                };
                match state[id] {
                    0 => {
                        state[id] = 1;
                        stack.push((id, self.nodes[id].in_place()));
                    }
                    1 => return Err("a `$ref` in it refers to itself without end".to_owned()),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
